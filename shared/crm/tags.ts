import {creditsOfTags} from './call-credits.ts'
import type {WriteAnswer, WriteOptions} from './crm.ts'
import {pathOf, sendOptions, sendWrite, sortAnswers, timeOfAnswer} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/**
 * Returns one result per id, in order. The answer has no `Modified_Time`, so `modifiedAt` is the CRM's time of the answer, rounded up. It is null
 * if the answer has no date.
 */
export const addTags = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  {ids, tags}: {ids: string[]; tags: string[]},
  options: WriteOptions,
): Promise<WriteAnswer> => {
  const path = `${pathOf(module)}/actions/add_tags`
  const json = JSON.stringify({tags: tags.map(name => ({name})), ids, over_write: false})
  const credits = creditsOfTags(ids.length)
  const request = {operation: 'tag' as const, method: 'POST' as const, path, json, credits, ...sendOptions(options)}
  const answer = await sendWrite(sendCrmRequest, request, {count: ids.length, ids}, sortAnswers(ids))
  const modifiedAt = timeOfAnswer(answer)
  return {...answer, results: answer.results.map(result => (result.ok ? {...result, modifiedAt} : result))}
}
