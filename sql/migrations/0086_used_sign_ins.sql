-- Sign-ins that somebody came back from, so that each is completed once. A sign-in that only began is not stored: the state the browser carries
-- holds it, sealed. The table sign_ins is for older builds.
create table used_sign_ins (
  id text primary key,
  expires_at timestamptz not null
);
create index on used_sign_ins (expires_at);
