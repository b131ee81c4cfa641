-- Whether the CRM refused the restores of an undo for records that changed after they were read. Null: not an undo, or not begun.
alter table runs add column undo_strict boolean;
