import type {WriteAnswer, WriteOptions} from './crm.ts'
import {pathOf, sendOptions, sendWrite, sortAnswers} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/** Adds tags to records. Returns one result per id, in order. The CRM keeps a tag that a record already has. */
export const addTags = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  {ids, tags}: {ids: string[]; tags: string[]},
  options: WriteOptions,
): Promise<WriteAnswer> => {
  const path = `${pathOf(module)}/actions/add_tags`
  const json = JSON.stringify({tags: tags.map(name => ({name})), ids, over_write: false})
  const request = {operation: 'tag' as const, method: 'POST' as const, path, json, ...sendOptions(options)}
  return sendWrite(sendCrmRequest, request, {count: ids.length, ids}, sortAnswers(ids))
}
