-- When an e-mail of the invitation was queued. Null: none waits. Older processes leave it as it is.
alter table invitations add column mail_queued_at timestamptz;
