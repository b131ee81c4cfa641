-- What the two statements of a batch write (T1 and T2: `sql/ledger.ts`) references nothing: a key to `runs` is looked up for every row, and
-- shares a lock on the run's row. Both write only under the run's head or raise, and the head references the run; whatever deletes runs
-- deletes from these tables first, in pieces (`ofRuns` in `sql/erasure.ts`).
alter table run_log drop constraint run_log_run_no_fkey;
alter table admissions drop constraint admissions_run_no_fkey;
alter table sends drop constraint sends_run_no_fkey;
alter table unsettled drop constraint unsettled_run_no_fkey;
alter table chain_rows drop constraint chain_rows_chain_no_fkey;

-- Whatever deletes a run leaves none of these rows behind. Its head goes first: who holds that has written by then, and is seen by what
-- follows; who comes later finds no head and raises. What became of a chain's rows goes with the last of its runs.
create function leave_no_rows() returns trigger language plpgsql as $$
  declare chain bigint := coalesce(old.chain_no, old.run_no);
  begin
    delete from run_heads where run_no = old.run_no;
    delete from run_log where run_no = old.run_no;
    delete from admissions where run_no = old.run_no;
    delete from sends where run_no = old.run_no;
    delete from unsettled where run_no = old.run_no;
    if not exists (select from runs where chain_no = chain) then delete from chain_rows where chain_no = chain; end if;
    return null;
  end $$;
create trigger runs_leave_no_rows after delete on runs for each row execute function leave_no_rows();
