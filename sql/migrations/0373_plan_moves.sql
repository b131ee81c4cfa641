-- When the org last came to another plan. Null: never since this migration. `plan_anchor` does not tell, because from one paid plan to another the
-- periods continue.
alter table orgs add column plan_moved_at timestamptz;
create function note_plan_move() returns trigger language plpgsql as
  $$ begin new.plan_moved_at := lading_now(); return new; end $$;
create trigger orgs_note_plan_moves before update of plan_version_id on orgs for each row
  when (old.plan_version_id is distinct from new.plan_version_id) execute function note_plan_move();
