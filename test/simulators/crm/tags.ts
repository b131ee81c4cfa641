import {type Answer, CallRefused, ok, type Refusal, refusal, refuse} from './answers.ts'
import {type Call, jsonOf, moduleOf} from './call.ts'
import {readTags} from './fields.ts'
import {noteChange} from './history.ts'
import type {Module} from './modules.ts'
import {reportedTime} from './org.ts'
import {canSee} from './profiles.ts'
import {replaceValues} from './store.ts'

const recordsPerCall = 500
const recordsPerCredit = 50
const longestName = 25

type Tag = {name: string}
type TagsBody = {ids: string[]; tags: Tag[]; overwrites: boolean}

/** Adds tags to records. A record has each tag only once. Source: the vendor's OpenAPI of tag actions. */
export const addTags = (call: Call): Answer => changeTags(call, ({tags, overwrites}, before) => mergeTags(overwrites ? [] : before, tags))

export const removeTags = (call: Call): Answer => changeTags(call, ({tags}, before) => before.filter(tag => !hasTag(tags, tag)))

export const tagsCost = (call: Call): number => Math.max(1, Math.ceil(idsOf(call).length / recordsPerCredit))

const changeTags = (call: Call, change: (body: TagsBody, before: Tag[]) => Tag[]): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  const body = readBody(call)
  const data = body.ids.map((id, index) => call.refusals?.get(index) ?? changeRecord(call, module, id, before => change(body, before)))
  const done = data.filter(({status}) => status === 'success').length
  call.committed = done > 0
  const counts = {success_count: String(done), locked_count: String(data.filter(({code}) => code === 'RECORD_LOCKED').length)}
  if (done === 0) return ok({data, ...counts}, 400)
  return ok({data, ...counts}, 200)
}

type TagAnswer = Refusal | {code: 'SUCCESS'; details: object; message: string; status: 'success'}

const changeRecord = (call: Call, module: Module, id: string, change: (before: Tag[]) => Tag[]): TagAnswer => {
  const {store, name} = module
  const rec = store.byId.get(id)
  if (!rec || !canSee(call, name, rec)) return refusal('INVALID_DATA', {id}, 'the id given seems to be invalid')
  if (rec.locked) return refusal('RECORD_LOCKED', {id})
  replaceValues(store, rec, {...rec.values, Tag: change((rec.values.Tag as Tag[] | undefined) ?? [])})
  rec.modifiedAt = Math.floor((reportedTime(call.org) + call.skewMs) / 1000) * 1000
  rec.modifiedBy = call.user
  noteChange(module, rec, {at: rec.modifiedAt, by: call.user, source: 'crm_api', action: 'tags_overwritten', fields: null})
  const tags = readTags(call.org, rec.values.Tag)
  return {code: 'SUCCESS', details: {id, tags}, message: 'tags updated successfully', status: 'success'}
}

const readBody = (call: Call): TagsBody => {
  const {tags, over_write} = (jsonOf(call) ?? {}) as {tags?: unknown; over_write?: unknown}
  const ids = idsOf(call)
  if (ids.length === 0) throw new CallRefused(refuse(400, 'REQUIRED_PARAM_MISSING', {param_name: 'ids'}))
  if (ids.length > recordsPerCall) throw new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {limit: recordsPerCall, param_name: 'ids'}))
  if (!Array.isArray(tags) || tags.length === 0)
    throw new CallRefused(refuse(400, 'MANDATORY_NOT_FOUND', {api_name: 'tags', json_path: '$.tags'}))
  const wrong = tags.findIndex(tag => typeof tag?.name !== 'string' || tag.name === '' || tag.name.length > longestName)
  if (wrong >= 0) {
    const details = {maximum_length: longestName, api_name: 'name', json_path: `$.tags[${wrong}].name`}
    throw new CallRefused({status: 400, body: {tags: [refusal('INVALID_DATA', details)]}})
  }
  return {ids, tags: tags.map(({name}) => ({name})), overwrites: over_write === true}
}

const idsOf = (call: Call): string[] => {
  if (call.segments.length === 4) return [call.segments[1]!]
  const ids = (jsonOf(call) as {ids?: unknown} | null | undefined)?.ids
  return Array.isArray(ids) ? ids.map(String) : []
}

const mergeTags = (before: Tag[], added: Tag[]) => [...before, ...added.filter(tag => !hasTag(before, tag))]
const hasTag = (tags: Tag[], {name}: Tag) => tags.some(tag => tag.name.toLowerCase() === name.toLowerCase())
