-- Times are Unix microseconds in UTC unless a comment says otherwise.

CREATE TABLE IF NOT EXISTS requests (
  request_id        TEXT    NOT NULL PRIMARY KEY,
  type              TEXT    NOT NULL,
  user              TEXT    NOT NULL,
  state             INTEGER NOT NULL,
  epoch             INTEGER NOT NULL,
  -- The runner that has the request; null unless RUNNING.
  runner_id         TEXT    NULL,
  jr_url            TEXT    NULL,
  -- When the last hand-over was, and the number by which the call that made it
  -- knows its rows.
  handover_at       INTEGER NULL,
  handover_token    INTEGER NULL,
  created_at        INTEGER NOT NULL,
  started_at        INTEGER NULL,
  finished_at       INTEGER NULL,
  updated_at        INTEGER NOT NULL,
  stop_requested_at INTEGER NULL,
  total_jobs        INTEGER NOT NULL,
  finished_jobs     INTEGER NOT NULL,
  reason            TEXT    NOT NULL,
  args              TEXT    NOT NULL
);
CREATE INDEX IF NOT EXISTS requests_created ON requests (created_at DESC, request_id);
CREATE INDEX IF NOT EXISTS requests_type ON requests (type, created_at DESC, request_id, state);
CREATE INDEX IF NOT EXISTS requests_user ON requests (user, created_at DESC, request_id, state, type);
CREATE INDEX IF NOT EXISTS requests_state ON requests (state, created_at DESC, request_id);
CREATE INDEX IF NOT EXISTS requests_finished ON requests (finished_at, created_at DESC, request_id);
CREATE INDEX IF NOT EXISTS requests_runner ON requests (runner_id, epoch, request_id);

CREATE TABLE IF NOT EXISTS request_archives (
  request_id TEXT NOT NULL PRIMARY KEY,
  job_chain  BLOB NOT NULL
);

-- What lists filter by: a hash stands for the value, so that values of any
-- length match exactly and by index.
CREATE TABLE IF NOT EXISTS request_args (
  request_id TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  value_hash BLOB    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (request_id, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS request_args_value ON request_args (name, value_hash, created_at DESC, request_id);

CREATE TABLE IF NOT EXISTS idempotency_keys (
  -- Of user and key.
  key_hash   BLOB    NOT NULL PRIMARY KEY,
  request_id TEXT    NOT NULL,
  body_hash  BLOB    NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS idempotency_keys_created ON idempotency_keys (created_at);

CREATE TABLE IF NOT EXISTS suspended_job_chains (
  request_id   TEXT    NOT NULL PRIMARY KEY,
  -- The Request Manager that claimed it.
  rm_host      TEXT    NULL,
  claimed_at   INTEGER NULL,
  suspended_at INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  sjc          BLOB    NOT NULL
);
CREATE INDEX IF NOT EXISTS suspended_job_chains_claim ON suspended_job_chains (rm_host, suspended_at);

CREATE TABLE IF NOT EXISTS job_log (
  request_id  TEXT    NOT NULL,
  seq         INTEGER NOT NULL,
  job_id      TEXT    NOT NULL,
  try         INTEGER NOT NULL,
  run         INTEGER NOT NULL,
  epoch       INTEGER NOT NULL,
  name        TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  -- Unix nanoseconds, by the runner's clock.
  started_at  INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  exit_code   INTEGER NOT NULL,
  timed_out   TEXT    NOT NULL,
  error       TEXT    NOT NULL,
  stdout      BLOB    NULL,
  stderr      BLOB    NULL,
  data        TEXT    NULL,
  PRIMARY KEY (request_id, seq)
);
CREATE INDEX IF NOT EXISTS job_log_job ON job_log (request_id, job_id, try);

CREATE TABLE IF NOT EXISTS job_runners (
  runner_id       TEXT    NOT NULL PRIMARY KEY,
  url             TEXT    NOT NULL,
  host            TEXT    NOT NULL,
  pid             INTEGER NOT NULL,
  version         TEXT    NOT NULL,
  labels          TEXT    NOT NULL,
  capacity        INTEGER NOT NULL,
  running         INTEGER NOT NULL,
  -- The runner says that it takes nothing new; an operator asked it to.
  draining        INTEGER NOT NULL,
  drain_requested INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  heartbeat_at    INTEGER NOT NULL,
  -- When it was given up: from then on its heartbeats are refused.
  gone_at         INTEGER
);
CREATE INDEX IF NOT EXISTS job_runners_url ON job_runners (url);
CREATE INDEX IF NOT EXISTS job_runners_heartbeat ON job_runners (heartbeat_at);
