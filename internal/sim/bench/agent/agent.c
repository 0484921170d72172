/*
 * A scripted agent that answers at once, for measuring what stands between a
 * chat service and an agent. It speaks as much stream-json as a gateway needs:
 * prompts on stdin, messages on stdout, control requests answered with success.
 *
 * The last word of a prompt is its number. The answer is "re<number> <read>
 * <wrote>": when the prompt's line was read and when the answer was about to be
 * written, in nanoseconds of the monotonic clock, which all processes share.
 * The first word says what to do before:
 *
 *   m               nothing
 *   slow MS         wait
 *   stream N B US   write N pieces of B bytes, US microseconds apart
 *   tools N US      call N tools, US microseconds apart
 *   line MIB        write one line of that size
 *   flood MIB       write results of tools in lines of 64 KiB
 *   noise MIB       write to stderr
 *
 * With BENCH_JOURNAL set, every prompt is appended to that file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char session[64] = "00000000-0000-4000-8000-000000000000";
static int partial, message, journal = -1;
static char out[1 << 17];
static size_t used;

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void nap(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&t, NULL);
}

static void put(int fd, const char *b, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, b, n);
		if (k <= 0)
			_exit(1);
		b += k;
		n -= k;
	}
}

static void flush(void)
{
	put(1, out, used);
	used = 0;
}

/* say adds one line to what the next flush writes. */
static void say(const char *form, ...)
{
	va_list args;
	if (used > sizeof out / 2)
		flush();
	va_start(args, form);
	used += vsnprintf(out + used, sizeof out - used, form, args);
	va_end(args);
	out[used++] = '\n';
}

/* field copies the string value of a key, without looking for escapes. */
static int field(const char *line, const char *key, char *value, size_t size)
{
	char mark[64];
	const char *from, *to;
	snprintf(mark, sizeof mark, "\"%s\":\"", key);
	from = strstr(line, mark);
	if (!from)
		return 0;
	from += strlen(mark);
	to = strchr(from, '"');
	if (!to || (size_t)(to - from) >= size)
		return 0;
	memcpy(value, from, to - from);
	value[to - from] = 0;
	return 1;
}

static void event(const char *body)
{
	say("{\"type\":\"stream_event\",\"event\":%s,\"session_id\":\"%s\",\"parent_tool_use_id\":null}", body, session);
}

static void delta(const char *text)
{
	say("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
	    "{\"type\":\"text_delta\",\"text\":\"%s\"}},\"session_id\":\"%s\",\"parent_tool_use_id\":null}", text, session);
}

static void open_block(void)
{
	char body[256];
	snprintf(body, sizeof body, "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_%d\",\"type\":\"message\","
		 "\"role\":\"assistant\",\"model\":\"bench\",\"content\":[],\"usage\":{\"input_tokens\":9}}}", ++message);
	event(body);
	event("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}");
}

static void close_block(void)
{
	event("{\"type\":\"content_block_stop\",\"index\":0}");
	event("{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}");
	event("{\"type\":\"message_stop\"}");
}

static void assistant(const char *text)
{
	say("{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%d\",\"type\":\"message\",\"role\":\"assistant\","
	    "\"model\":\"bench\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]},\"parent_tool_use_id\":null,"
	    "\"session_id\":\"%s\"}", message, text, session);
}

static void result(const char *text)
{
	say("{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\","
	    "\"num_turns\":1,\"duration_ms\":0,\"total_cost_usd\":0,\"result\":\"%s\",\"usage\":{\"input_tokens\":9,"
	    "\"output_tokens\":9},\"modelUsage\":{},\"session_id\":\"%s\"}", text, session);
}

/* answer says a text in the form of one streamed block, and ends the run. */
static void answer(const char *tag, long long read_at)
{
	char text[128];
	snprintf(text, sizeof text, "re%.32s %lld %lld", tag, read_at, now());
	if (partial) {
		open_block();
		delta(text);
	} else {
		message++;
	}
	assistant(text);
	if (partial)
		close_block();
	result(text);
}

static void stream(long n, long bytes, long us, const char *tag, long long read_at)
{
	char piece[512], last[128];
	long i, start = 0;
	long long began = now();
	if (bytes >= (long)sizeof piece)
		bytes = sizeof piece - 1;
	memset(piece, 'a', bytes);
	piece[bytes] = 0;
	piece[bytes - 1] = ' ';
	open_block();
	for (i = 0; i < n; i++) {
		delta(piece);
		flush();
		start = (now() - began) / 1000;
		if ((i + 1) * us > start)
			nap((i + 1) * us - start);
	}
	snprintf(last, sizeof last, "re%.32s %lld %lld", tag, read_at, now());
	delta(last);
	close_block();
	result(last);
}

/* tool calls a tool; its result has that many bytes. */
static void tool(long no, size_t bytes, long us)
{
	static char body[1 << 16];
	say("{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%d\",\"role\":\"assistant\",\"model\":\"bench\",\"content\":"
	    "[{\"type\":\"tool_use\",\"id\":\"toolu_%ld\",\"name\":\"Bash\",\"input\":{\"command\":\"make step%ld\"}}]},"
	    "\"parent_tool_use_id\":null,\"session_id\":\"%s\"}", ++message, no, no, session);
	flush();
	nap(us);
	memset(body, 'x', sizeof body - 1);
	say("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
	    "\"toolu_%ld\",\"is_error\":false,\"content\":\"%.*s\"}]},\"parent_tool_use_id\":null,\"session_id\":\"%s\"}",
	    no, (int)bytes, body, session);
	flush();
}

/* line writes one assistant message of that many MiB. */
static void line(long mib)
{
	static char x[1 << 16];
	long i;
	memset(x, 'x', sizeof x);
	used += snprintf(out + used, sizeof out - used, "{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%d\","
			 "\"role\":\"assistant\",\"model\":\"bench\",\"content\":[{\"type\":\"text\",\"text\":\"", ++message);
	flush();
	for (i = 0; i < mib * 16; i++)
		put(1, x, sizeof x);
	say("\"}]},\"parent_tool_use_id\":null,\"session_id\":\"%s\"}", session);
	flush();
}

static void noise(long mib)
{
	static char x[1 << 16];
	long i;
	memset(x, 'e', sizeof x);
	x[sizeof x - 1] = '\n';
	for (i = 0; i < mib * 16; i++)
		put(2, x, sizeof x);
}

static void act(char *text, const char *tag, long long read_at)
{
	long a = 0, b = 0, c = 0, i;
	if (sscanf(text, "stream %ld %ld %ld", &a, &b, &c) == 3) {
		stream(a, b, c, tag, read_at);
		return;
	}
	if (sscanf(text, "slow %ld", &a) == 1)
		nap(a * 1000);
	else if (sscanf(text, "tools %ld %ld", &a, &b) == 2)
		for (i = 0; i < a; i++)
			tool(i, 100, b);
	else if (sscanf(text, "line %ld", &a) == 1)
		line(a);
	else if (sscanf(text, "flood %ld", &a) == 1)
		for (i = 0; i < a * 16; i++)
			tool(i, 65000, 0);
	else if (sscanf(text, "noise %ld", &a) == 1)
		noise(a);
	answer(tag, read_at);
}

static void prompt(char *text, const char *id, long long read_at)
{
	char copy[4096], *tag = strrchr(text, ' ');
	if (journal >= 0) {
		int n = snprintf(copy, sizeof copy, "%s\n", text);
		put(journal, copy, n);
	}
	if (*id)
		say("{\"type\":\"command_lifecycle\",\"command_uuid\":\"%s\",\"state\":\"started\",\"session_id\":\"%s\"}", id, session);
	say("{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"bench\",\"session_id\":\"%s\"}", session);
	if (*text != 'm')
		flush();
	act(text, tag ? tag + 1 : text, read_at);
	if (*id)
		say("{\"type\":\"command_lifecycle\",\"command_uuid\":\"%s\",\"state\":\"completed\",\"session_id\":\"%s\"}", id, session);
	flush();
}

static void take(char *l, long long read_at)
{
	char id[128] = "", text[4096];
	if (strstr(l, "\"type\":\"control_request\"")) {
		field(l, "request_id", id, sizeof id);
		say("{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"%s\",\"response\":"
		    "{\"claude_code_version\":\"2.1.332\",\"commands\":[],\"models\":[]}}}", id);
		flush();
	} else if (strstr(l, "\"type\":\"user\"") && field(l, "content", text, sizeof text)) {
		field(l, "uuid", id, sizeof id);
		prompt(text, id, read_at);
	}
}

int main(int argc, char **argv)
{
	char *l = NULL, *path = getenv("BENCH_JOURNAL");
	size_t size = 0;
	int i;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--version")) {
			puts("2.1.332 (bench)");
			return 0;
		}
		if (!strcmp(argv[i], "auth")) {
			puts("{\"loggedIn\":true}");
			return 0;
		}
		if (!strcmp(argv[i], "--include-partial-messages"))
			partial = 1;
		sscanf(argv[i], "--session-id=%63s", session);
		sscanf(argv[i], "--resume=%63s", session);
	}
	if (path)
		journal = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	while (getline(&l, &size, stdin) > 0)
		take(l, now());
	return 0;
}
