-- Whether the settlements of a run store log entries packed, in `log_batches`. Processes of the release before this one start runs without it.
alter table run_heads add column packs_log boolean not null default false;
