-- Creates that nobody answered and that nothing unique tells are settled by what was sent: rows of one payload together. `ended`: the run
-- is done with the question; only another run of the chain asks it again.
alter table unsettled add column ended boolean not null default false;
create index unsettled_digest on unsettled (chain_no, module_no, digest) where kind = 0 and not witness;
