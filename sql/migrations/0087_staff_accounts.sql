-- Accounts of the identity provider whose person becomes staff when they first sign in: data centre and account id, as in people.subject.
-- An address in staff_addresses makes nobody staff any more: an address does not identify an account.
create table staff_accounts (
  id text primary key,
  subject text not null unique,
  created_at timestamptz not null default lading_now()
);
