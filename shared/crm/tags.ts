import {Refusal} from '../errors.ts'
import type {WriteAnswer, WriteOptions} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {type CrmCallOutcome, listAt, readWrite, waitOf, wholeProblem} from './outcome.ts'
import {mostOfSmall, pathOf, recordsAtOnce} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/** Adds tags to records. Returns one result per id, in order. The CRM keeps a tag that a record already has. */
export const addTags = async (
  sendCrmRequest: SendCrmRequest,
  module: string,
  {ids, tags}: {ids: string[]; tags: string[]},
  {signal, mayLeave}: WriteOptions,
): Promise<WriteAnswer> => {
  if (ids.length > recordsAtOnce) throw new RangeError(`A call tags at most ${recordsAtOnce} records, not ${ids.length}`)
  const path = `${pathOf(module)}/actions/add_tags`
  const json = JSON.stringify({tags: tags.map(name => ({name})), ids, over_write: false})
  try {
    const large = ids.length > mostOfSmall
    const outcome = await sendCrmRequest({operation: 'tag', method: 'POST', path, json, large, signal, mayLeave})
    const answered = sortAnswers(outcome, ids)
    const whole = wholeProblem(answered, ids.length)
    return {
      results: readWrite(answered, {count: ids.length, ids}),
      clockOffsetMs: 'json' in outcome ? outcome.clockOffsetMs : null,
      whole: whole && new CrmError(whole, waitOf(outcome)),
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refusal = new Refusal(error.code, error.message, {...error.extra, written: false})
    return {results: ids.map(() => ({ok: false, sent: false, refusal})), clockOffsetMs: null}
  }
}

/** Sorts the entries of an answer by the ids of the request, if each names another one of them. No document promises an order. */
const sortAnswers = (outcome: CrmCallOutcome, ids: string[]): CrmCallOutcome => {
  const items = 'json' in outcome ? listAt(outcome.json, 'data') : undefined
  if (!items) return outcome
  const byId = new Map(items.map(item => [asObject(asObject(item)?.details)?.id, item]))
  const isWhole = items.length === ids.length && ids.every(id => byId.has(id))
  return isWhole ? {...(outcome as Extract<CrmCallOutcome, {json: unknown}>), json: {data: ids.map(id => byId.get(id))}} : outcome
}
