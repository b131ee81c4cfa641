-- When somebody was last sent to sign in for a client, so that it is not evicted before they return.
alter table oauth_clients add column visited_at timestamptz;
