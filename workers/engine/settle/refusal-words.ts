import {type CrmProblem, describeProblem, errorsOf} from '../../../shared/crm/error.ts'
import {storableText} from '../../../shared/schema/storable-text.ts'
import {findRowPlace} from '../../writes/row-verdict.ts'
import type {ImportRow} from '../model.ts'
import {longestMessage} from './log-entries.ts'

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

/** This sentence ends the message of a refused update if an earlier send of it may have taken effect. */
const unansweredNote = 'An earlier send of this row was never answered, so its values may have been written'

/** Appends the sentence. Shortens the message if both do not fit. */
export const addSentence = (message: string, sentence: string) =>
  `${storableText(message, longestMessage - sentence.length - 2)}. ${sentence}`

/** Appends the note if an earlier send of the update was never answered. */
export const addUnansweredNote = (message: string, hasUnansweredSend: boolean) =>
  hasUnansweredSend ? addSentence(message, unansweredNote) : message

/** Returns null if the CRM refused the record itself. */
export const findRefusedRow = (crm: CrmProblem, {nested = []}: ImportRow): ImportRow | null => {
  const place = findRowPlace(crm)
  const rows = nested.find(({flow}) => flow.subform.field === place?.field)?.rows
  return rows?.[place!.at] ?? null
}
