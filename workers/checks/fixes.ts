/**
 * What a person can do about each kind of problem. If a row or a field failed, the kind is the code of the failure in lower case. For a row, the
 * prefix `row_` is dropped.
 */
const FIXES: Record<string, string> = {
  ambiguous_value: 'Choose how the column is read: PATCH the source with choices',
  duplicate_match: 'Merge these rows, or remove all but one with the cleaning step strikeDuplicates',
  duplicate_value: 'The CRM takes each value once: correct the values, merge the rows, or match by this field',
  empty: 'Remove such rows with the cleaning step strikeEmpty, or fill them',
  expression_timeout: 'Simplify the expression: each row has a fixed time limit',
  field_missing: 'Map another field. If the field is new in the CRM, read the CRM again: POST /orgs/{org}/discovery/run',
  column_missing: 'Map a column of the file, or change the reader options so that this column is found',
  module_missing: 'Choose another module, or read the CRM again: POST /orgs/{org}/discovery/run',
  source_missing: 'Add the file again, or let the flow read another source',
  file_gone: 'Upload the file again as a source',
  filtered: 'Nothing to do: the filter of the flow excludes these rows',
  guarded: 'Nothing to do: the guard of the flow excludes these rows',
  invalid_value: 'Correct the cells, add a cleaning step or a transform, or choose how the column is read',
  limit: 'Split the file, run it in ranges of rows, retry the run to continue it, or choose a plan with more rows per run',
  more: 'Correct what is listed, then check again',
  not_on_layout: 'Choose another layout, add the field to the layout in the CRM, or remove the mapping',
  option_missing: 'Choose a layout or rule that the CRM has. If it is new, read the CRM again: POST /orgs/{org}/discovery/run',
  not_in_picklist: 'Map these words to options (values), correct them, or send them unchanged (picklist "pass")',
  parent_failed: 'Fill the column that names the parent, or exclude such rows with a filter',
  parent_flow: 'Correct the flow of the parents, then check again',
  ragged: 'Correct the delimiter, set shortRows to fill if cells are only missing, or remove the rows',
  quote: 'Close or double the quote in the file. Set openQuotes to keep if the cell is right, or quote to null if quotes mean nothing',
  read_only: 'Remove the field from the flow: the CRM fills it itself',
  repeats_unchecked: 'Split the file to have all of it checked for repeated values',
  module_disabled: 'Have an administrator enable the module, or remove the flow',
  required: 'Fill the cells, or give the field a static value or an expression',
  rounded: 'If the digits matter, give the field more decimal places in the CRM. Otherwise nothing to do',
  row_of_same_parent: 'Correct these rows, or exclude them with a filter or a cleaning step',
  struck: 'Nothing to do: cleaning removes these rows, and they are not written',
  value_unmapped: 'Add these values to the value map of the field (values), or choose what happens to other values (otherwise)',
  too_long: 'Shorten the values, with a transform or in the file, or make the field longer in the CRM',
}

export const fixOf = (kind: string): string =>
  FIXES[kind] ?? (kind.startsWith('expression') ? 'Correct the expression, or the cells it reads' : 'Correct the flow as the message says')
