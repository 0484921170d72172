// The event stream of one chat. It goes on where it was when the connection is
// lost. Browsers allow few connections to one host, so of the hidden tabs only
// one keeps its stream; the others catch up when they are looked at.

export class Stream {
  constructor(on) {
    this.on = on; // { event, state, stale }
    this.source = null;
    this.path = '';
    this.cursor = '';
    this.wait = 500;
    this.release = null;
    document.addEventListener('visibilitychange', () => this.seen());
  }

  // open follows a chat from a cursor on.
  open(path, cursor) {
    this.close();
    this.path = path;
    this.cursor = cursor;
    this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.path = '';
  }

  connect() {
    clearTimeout(this.timer);
    this.source?.close();
    if (!this.path) return;
    this.on.state('connecting');
    const source = new EventSource(this.path + '/events?after=' + encodeURIComponent(this.cursor));
    this.source = source;
    source.onmessage = (m) => {
      if (source !== this.source) return;
      if (m.lastEventId) this.cursor = m.lastEventId;
      const event = JSON.parse(m.data);
      if (event.kind === 'reset') {
        this.close();
        this.on.stale();
        return;
      }
      if (event.kind === 'ready') {
        this.wait = 500;
        this.on.state('connected');
      }
      this.on.event(event);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      this.again();
    };
  }

  // again connects after a pause that grows, and asks first whether the login
  // is still good: an event stream does not tell why it was refused.
  again() {
    this.source?.close();
    this.on.state('offline');
    this.timer = setTimeout(async () => {
      try {
        const answer = await fetch('/api/me');
        if (answer.status === 401) return location.replace('/login');
      } catch { /* still down: the next try tells */ }
      this.connect();
    }, this.wait + Math.random() * 250);
    this.wait = Math.min(this.wait * 2, 10000);
  }

  seen() {
    if (document.visibilityState === 'visible') {
      this.release?.();
      this.release = null;
      if (this.path && (!this.source || this.source.readyState === EventSource.CLOSED)) this.connect();
      return;
    }
    const sleep = () => {
      if (document.visibilityState !== 'visible') {
        clearTimeout(this.timer);
        this.source?.close();
      }
    };
    if (!navigator.locks) return sleep();
    navigator.locks.request('cligate-hidden-stream', { ifAvailable: true }, (lock) => {
      if (!lock) return sleep();
      if (document.visibilityState === 'visible') return undefined;
      return new Promise((done) => { this.release = done; });
    });
  }
}
