-- `confirming`: the bank wants the payment confirmed at the provider's page. The plan changes when that is done, and not before.
alter table plan_changes drop constraint plan_changes_state_check, add constraint plan_changes_state_check
  check (state in ('started', 'accepted', 'landed', 'declined', 'refused', 'unknown', 'partial', 'superseded', 'confirming')) not valid;
