package main

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the rod's ledger
)

// rodMode is the argument that makes this program the measuring rod: the least
// that a durable gateway can do. It polls, commits what came before it confirms
// it, keeps one agent for a chat, writes the prompt, posts the answer, commits
// that. It has no access rules, no sessions, no budgets, no live message, and
// after a crash it gives the agent the same prompt again. It commits with
// synchronous=NORMAL.
const rodMode = "rod"

type rodGateway struct {
	api, agent string
	client     *http.Client
	db         *sql.DB
	agents     map[int64]*rodAgent
}

type rodAgent struct {
	gateway *rodGateway
	chat    int64
	stdin   io.Writer
	mu      sync.Mutex
	open    []int64 // messages that the agent works at, oldest first
}

type rodMessage struct {
	Update  int64 `json:"update_id"`
	Message struct {
		Text string `json:"text"`
		Chat struct {
			ID int64 `json:"id"`
		} `json:"chat"`
	} `json:"message"`
}

// rod runs until it is killed, or something is wrong.
func rod() error {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(os.Getenv("ROD_DIR"), "rod.db")+"?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, chat INTEGER, text TEXT, answer TEXT);
CREATE INDEX IF NOT EXISTS open ON message (id) WHERE answer IS NULL`)
	if err != nil {
		return err
	}
	g := &rodGateway{
		api: os.Getenv("ROD_API") + "/bot1:rod/", agent: os.Getenv("ROD_AGENT"), db: db, agents: map[int64]*rodAgent{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	if err := g.resume(); err != nil {
		return err
	}
	return g.poll()
}

// resume gives the agents what was not answered.
func (g *rodGateway) resume() error {
	all, err := g.unanswered()
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := g.prompt(m); err != nil {
			return err
		}
	}
	return nil
}

func (g *rodGateway) unanswered() (all []rodMessage, err error) {
	rows, err := g.db.Query(`SELECT id, chat, text FROM message WHERE answer IS NULL ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m rodMessage
		if err := rows.Scan(&m.Update, &m.Message.Chat.ID, &m.Message.Text); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

func (g *rodGateway) poll() error {
	var offset int64
	for {
		var answer struct {
			Result []rodMessage `json:"result"`
		}
		resp, err := g.client.Get(g.api + "getUpdates?timeout=50&offset=" + strconv.FormatInt(offset, 10))
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		_ = resp.Body.Close()
		if err != nil {
			return err
		}
		if err := g.store(answer.Result); err != nil {
			return err
		}
		for _, m := range answer.Result {
			offset = m.Update + 1
			if err := g.prompt(m); err != nil {
				return err
			}
		}
	}
}

// store commits a batch; one that was delivered again is known.
func (g *rodGateway) store(ms []rodMessage) error {
	if len(ms) == 0 {
		return nil
	}
	tx, err := g.db.Begin()
	if err != nil {
		return err
	}
	for _, m := range ms {
		_, err := tx.Exec(`INSERT OR IGNORE INTO message (id, chat, text) VALUES (?, ?, ?)`, m.Update, m.Message.Chat.ID, m.Message.Text)
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func (g *rodGateway) prompt(m rodMessage) error {
	a := g.agents[m.Message.Chat.ID]
	if a == nil {
		var err error
		if a, err = g.spawn(m.Message.Chat.ID); err != nil {
			return err
		}
		g.agents[a.chat] = a
	}
	a.mu.Lock()
	a.open = append(a.open, m.Update)
	a.mu.Unlock()
	text, err := json.Marshal(m.Message.Text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdin, `{"type":"user","message":{"role":"user","content":%s}}`+"\n", text)
	return err
}

func (g *rodGateway) spawn(chat int64) (*rodAgent, error) {
	cmd := exec.Command(g.agent)
	cmd.Env = append(os.Environ(), "CHAT="+strconv.FormatInt(chat, 10))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	a := &rodAgent{gateway: g, chat: chat, stdin: in}
	go a.read(out) // ends with the agent
	return a, nil
}

// read posts every result. The agent is waited for by nobody: it lives as long
// as the rod does.
func (a *rodAgent) read(r io.Reader) {
	lines := bufio.NewReaderSize(r, 8<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct{ Type, Result string }
		if json.Unmarshal(line, &m) != nil || m.Type != "result" {
			continue
		}
		a.mu.Lock()
		id := a.open[0]
		a.open = a.open[1:]
		a.mu.Unlock()
		if err := a.gateway.answer(a.chat, id, m.Result); err != nil {
			fmt.Fprintln(os.Stderr, "answer:", err)
		}
	}
}

// answer posts an answer and commits that.
func (g *rodGateway) answer(chat, id int64, text string) error {
	form := url.Values{"chat_id": {strconv.FormatInt(chat, 10)}, "text": {text}}
	resp, err := g.client.Post(g.api+"sendMessage", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	_, err = g.db.Exec(`UPDATE message SET answer = ? WHERE id = ?`, text, id)
	return err
}
