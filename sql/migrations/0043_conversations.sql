-- What members asked a model about an import, and what it answered. Goes with the import, and with the file it is about.

-- `place`: the key of what it was about (`shared/conversations/place.ts`). `position`: from 0 in the conversation at its place. `format`: of `body`;
-- a build that knows only older ones leaves the turn out. Times are whole milliseconds, as a cursor names them.
create table conversation_turns (
  id text collate "C" primary key,
  org_id text not null references orgs on delete cascade,
  import_no bigint not null references imports on delete cascade,
  source_id text references sources (id) on delete cascade,
  place text not null,
  position int not null check (position >= 0),
  format smallint not null,
  asked_at timestamptz not null check (asked_at = date_trunc('milliseconds', asked_at)),
  asked_by text references people on delete set null,
  asked_via text not null check (asked_via in ('session', 'api_token', 'mcp')),
  body jsonb not null,
  unique (import_no, place, position)
);
create index on conversation_turns (import_no, asked_at desc, id desc);
create index on conversation_turns (import_no, id);
create index on conversation_turns (source_id) where source_id is not null;
create index on conversation_turns (org_id, asked_at);
create index on conversation_turns (asked_by) where asked_by is not null;
