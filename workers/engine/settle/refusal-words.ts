import {type CrmProblem, describeProblem, errorsOf} from '../../../shared/crm/error.ts'
import {findRowPlace} from '../../writes/row-verdict.ts'
import type {ImportRow} from '../model.ts'

/** Returns the CRM's message with the names of the refused fields; never a value. */
export const sayRefusal = (crm: CrmProblem) => {
  const fields = [...new Set(errorsOf(crm).flatMap(({field}) => field ?? []))]
  return fields.length ? `${describeProblem(crm)} (${fields.join(', ')})` : describeProblem(crm)
}

/** If the CRM refused a nested row, the message names that row. */
export const sayRowRefusal = (row: ImportRow, crm: CrmProblem): string => {
  const culprit = findRefusedRow(crm, row)
  return culprit ? `Row ${culprit.key}: ${sayRefusal(crm)}` : sayRefusal(crm)
}

/** Returns null if the CRM refused the record itself. */
export const findRefusedRow = (crm: CrmProblem, {nested = []}: ImportRow): ImportRow | null => {
  const place = findRowPlace(crm)
  const rows = nested.find(({flow}) => flow.subform.field === place?.field)?.rows
  return rows?.[place!.at] ?? null
}
