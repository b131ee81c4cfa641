-- Files that are being sent in pieces. `kept`: so many bytes of it are in storage, without a gap. `source_id`: what became of it; the row stays
-- until it expires, so that whoever lost the answer is told again. `settled`: the file's slot was seen to, with `filled` as it was answered.
create table uploads (
  upload_no bigint generated always as identity primary key,
  id text not null unique,
  org_id text not null references orgs on delete cascade,
  import_no bigint not null references imports on delete cascade,
  name text not null,
  label text,
  slot text,
  reader jsonb,
  bytes bigint not null check (bytes >= 0),
  kept bigint not null default 0 check (kept between 0 and bytes),
  source_id text,
  settled boolean not null default false,
  filled jsonb,
  created_at timestamptz not null default lading_now(),
  expires_at timestamptz not null,
  check (source_id is null or kept = bytes),
  check (source_id is not null or not settled)
);
create index on uploads (import_no);
create index on uploads (org_id);
create index on uploads (expires_at);

-- An import that is being sent a file is in use.
create trigger uploads_touch_imports after insert on uploads for each row execute function touch_import();

-- One object each, in the order of `at`, the place of its first byte in the file. Its key is written down as loose before it is stored, and again
-- when the row goes, whoever deletes it.
create table upload_parts (
  upload_no bigint not null references uploads on delete cascade,
  at bigint not null,
  bytes bigint not null check (bytes > 0),
  key text not null unique,
  primary key (upload_no, at)
);
create trigger upload_parts_leave_objects after delete on upload_parts for each row execute function loosen_object();
