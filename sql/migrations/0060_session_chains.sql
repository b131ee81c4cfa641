-- The sign-in a session was refreshed from, and the device that holds it. Null in sessions of older builds: such a session is its own sign-in.
alter table sessions
  add column root_id text,
  add column signed_in_at timestamptz,
  add column user_agent text,
  add column address text;
