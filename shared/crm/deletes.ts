import type {WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, type CrmProblem} from './error.ts'
import {pathOf, sendOptions, sendWrite, sortAnswers} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/**
 * Deletes records with their subform rows. Returns one result per id, in order. Workflows run only if `automations` is true or includes
 * `workflow`. Source: the vendor's OpenAPI of records, operation deleteRecords; wf_trigger:
 * zoho.com/crm/developer/docs/api/v7/delete-records.html.
 */
export const deleteRecords = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  ids: string[],
  options: WriteOptions,
): Promise<WriteAnswer> => {
  const runsWorkflows = options.automations === true || (Array.isArray(options.automations) && options.automations.includes('workflow'))
  const query = {ids: ids.join(','), ...(!runsWorkflows && {wf_trigger: 'false'})}
  const request = {operation: 'delete' as const, method: 'DELETE' as const, path: pathOf(module), query, ...sendOptions(options)}
  return sendWrite(sendCrmRequest, request, {count: ids.length, ids}, sortAnswers(ids))
}

/**
 * Returns whether the CRM refused a delete because it found no record with this id. The record was deleted before, perhaps by an unanswered call, or
 * the user may not see it.
 */
export const isGone = ({code, details}: Pick<CrmProblem, 'code' | 'details'>, id: string): boolean =>
  code === 'INVALID_DATA' && asObject(details)?.id === id
