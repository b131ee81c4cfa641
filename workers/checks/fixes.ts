/** What to do about each kind. Those that conversion and expressions have are named by their codes. */
const FIXES: Record<string, string> = {
  ambiguous_value: 'Choose how the column is read: PATCH the source with choices',
  duplicate_match: 'Merge these rows, or strike all but one with the cleaning step strikeDuplicates',
  duplicate_value: 'The CRM takes each value once: correct the values, merge the rows, or match by this field',
  empty: 'Strike such rows with the cleaning step strikeEmpty, or fill them',
  expression_timeout: 'Make the expression simpler: a row has a fixed time',
  field_missing: 'Map another field, or read the CRM again where the field is new there: POST /orgs/{org}/discovery/run',
  column_missing: 'Map a column the file has, or set the reader so that it finds this one',
  module_missing: 'Choose another module, or read the CRM again: POST /orgs/{org}/discovery/run',
  source_missing: 'Add the file again, or let the flow read another source',
  file_gone: 'Upload the file again as a source',
  filtered: 'Nothing needs to be done: the filter of the flow is meant to do this',
  guarded: 'Nothing needs to be done: the guard of the flow is meant to do this',
  invalid_value: 'Correct the cells, add a cleaning step or a transform, or state how the column is written',
  limit: 'Split the file, run it in ranges of rows, retry the run to carry on, or choose a plan with more rows per run',
  more: 'Correct what is listed, then check again',
  not_in_picklist: 'Map these words to values of the picklist (picklist "map"), correct them, or let them pass (picklist "pass")',
  parent_failed: 'Fill the column by which rows belong to their parents, or leave such rows out with a filter',
  parent_flow: 'Set the flow it belongs to again, then check again',
  ragged: 'Correct the delimiter, set shortRows to fill where cells are only missing, or strike the rows',
  read_only: 'Leave the field out: the CRM fills it itself',
  repeats_unchecked: 'Split the file to have all of it checked for repeated values',
  required: 'Fill the cells, or give the field a static value or an expression',
  rounded: 'Nothing needs to be done unless the digits matter: then give the field more decimal places in the CRM',
  row_of_same_parent: 'Correct these rows, or leave them out on purpose with a filter or a cleaning step',
  struck: 'Nothing needs to be done: cleaning strikes these rows, and they are not written',
  too_long: 'Shorten the values, with a transform or in the file, or make the field longer in the CRM',
}

export const fixOf = (kind: string): string =>
  FIXES[kind] ?? (kind.startsWith('expression') ? 'Mend the expression, or the cells it reads' : 'Set the flow again as the message says')
