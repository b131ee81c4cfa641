import type {Answer} from './answers.ts'
import {listAssignmentRules} from './assignment-rules.ts'
import {createReadJob, downloadReadResult, readReadJob} from './bulk-read.ts'
import {uploadFile} from './bulk-upload.ts'
import {createWriteJob, downloadWriteResult, readWriteJob} from './bulk-write.ts'
import type {Call} from './call.ts'
import {costOfQuery, queryRecords} from './coql.ts'
import {costs, writeCost} from './credits.ts'
import {listFields, listLayouts, listModules, readField, readLayout, readModule} from './metadata.ts'
import {countUsers, listUsers, readOrg, readUser} from './people.ts'
import {listProfiles, listSharing, readProfile} from './profiles.ts'
import {countAll, listDeleted, listRecords, readRecord} from './reads.ts'
import {listBin, restoreRecords} from './recycle-bin.ts'
import type {Request} from './request.ts'
import type {Verb} from './scopes.ts'
import {searchRecords} from './search.ts'
import {addTags, removeTags, tagsCost} from './tags.ts'
import {readTimeline} from './timeline.ts'
import {countRecords, createRecords, deleteRecords, updateRecords, upsertRecords} from './write-calls.ts'

/** A route. `area`: the required scope; `{module}` is replaced by the module in the path. `also`: a second required scope. */
export type Route = {
  method: string
  path: string[]
  area: string
  verb: Verb
  run: (call: Call) => Answer
  also?: string
  cost?: (call: Call) => number
  isHeavy?: (call: Call) => boolean
  hosts?: Request['host'][]
}

const recordArea = 'ZohoCRM.modules.{module}'
const tagArea = 'ZohoCRM.settings.tags'
const binArea = 'ZohoCRM.settings.recycle_bin'
/** The root of the bulk API, used as the first part of its paths. No part of another path contains a slash. */
export const bulkRoot = '/crm/bulk/v8'
/** The first part of the path of a bulk write's result, which is valid on two hosts. */
export const resultRoot = '/bulk-write'
const bulkArea = 'ZohoCRM.bulk'
const manyRecords = 10
const isBigWrite = (call: Call) => countRecords(call) > manyRecords
const isSortedRead = (call: Call) => call.query.has('cvid') || !['id', null].includes(call.query.get('sort_by'))
const costOfWrite = (call: Call) => writeCost(countRecords(call))

const at = (method: string, path: string, area: string, verb: Verb, run: Route['run'], more: Partial<Route> = {}): Route => ({
  method,
  path: path.split('/'),
  area,
  verb,
  run,
  ...more,
})

const atBulk = (method: string, path: string, verb: Verb, run: Route['run'], more: Partial<Route> = {}): Route => {
  const route = at(method, path, bulkArea, verb, run, more)
  return {...route, path: [bulkRoot, ...route.path]}
}

/** The routes. A fixed path has priority over one with a module. */
export const routes: Route[] = [
  at('GET', 'org', 'ZohoCRM.org', 'READ', readOrg),
  at('GET', 'users', 'ZohoCRM.users', 'READ', listUsers),
  at('GET', 'users/actions/count', 'ZohoCRM.users', 'READ', countUsers),
  at('GET', 'users/{id}', 'ZohoCRM.users', 'READ', readUser),
  at('GET', 'settings/modules', 'ZohoCRM.settings.modules', 'READ', listModules),
  at('GET', 'settings/modules/{id}', 'ZohoCRM.settings.modules', 'READ', readModule),
  at('GET', 'settings/fields', 'ZohoCRM.settings.fields', 'READ', listFields),
  at('GET', 'settings/fields/{id}', 'ZohoCRM.settings.fields', 'READ', readField),
  at('GET', 'settings/layouts', 'ZohoCRM.settings.layouts', 'READ', listLayouts),
  at('GET', 'settings/layouts/{id}', 'ZohoCRM.settings.layouts', 'READ', readLayout),
  at('GET', 'settings/automation/assignment_rules', 'ZohoCRM.settings.assignment_rules', 'READ', listAssignmentRules),
  at('GET', 'settings/profiles', 'ZohoCRM.settings.profiles', 'READ', listProfiles),
  at('GET', 'settings/profiles/{id}', 'ZohoCRM.settings.profiles', 'READ', readProfile),
  at('GET', 'settings/data_sharing', 'ZohoCRM.settings.data_sharing', 'READ', listSharing),
  at('GET', 'settings/recycle_bin', binArea, 'READ', listBin),
  at('GET', 'settings/recycle_bin/{id}', binArea, 'READ', listBin),
  at('POST', 'settings/recycle_bin/actions/restore', binArea, 'UPDATE', restoreRecords),
  at('POST', 'settings/recycle_bin/{id}/actions/restore', binArea, 'UPDATE', restoreRecords),
  at('POST', 'coql', 'ZohoCRM.coql', 'READ', queryRecords, {cost: costOfQuery, isHeavy: () => true}),
  atBulk('POST', 'read', 'READ', createReadJob, {cost: () => costs.bulkRead}),
  atBulk('GET', 'read/{id}', 'READ', readReadJob),
  atBulk('POST', 'write', 'CREATE', createWriteJob, {cost: () => costs.bulkWrite}),
  atBulk('GET', 'write/{id}', 'CREATE', readWriteJob),
  {...at('GET', '{id}/{id}', bulkArea, 'CREATE', downloadWriteResult), path: [resultRoot, '{id}', '{id}'], hosts: ['api', 'download']},
  at('POST', 'upload', 'ZohoFiles.files', 'CREATE', uploadFile, {hosts: ['content']}),
  atBulk('GET', 'read/{id}/result', 'READ', downloadReadResult),
  at('GET', '{module}/search', recordArea, 'READ', searchRecords, {also: 'ZohoSearch.securesearch'}),
  at('GET', '{module}/deleted', recordArea, 'READ', listDeleted),
  at('GET', '{module}/actions/count', recordArea, 'READ', countAll),
  at('POST', '{module}/actions/add_tags', tagArea, 'CREATE', addTags, {cost: tagsCost}),
  at('POST', '{module}/actions/remove_tags', tagArea, 'DELETE', removeTags, {cost: tagsCost}),
  at('POST', '{module}/{id}/actions/add_tags', tagArea, 'CREATE', addTags, {cost: tagsCost}),
  at('POST', '{module}/{id}/actions/remove_tags', tagArea, 'DELETE', removeTags, {cost: tagsCost}),
  at('POST', '{module}/upsert', recordArea, 'CREATE', upsertRecords, {cost: costOfWrite, isHeavy: isBigWrite}),
  at('GET', '{module}', recordArea, 'READ', listRecords, {isHeavy: isSortedRead}),
  at('POST', '{module}', recordArea, 'CREATE', createRecords, {cost: costOfWrite, isHeavy: isBigWrite}),
  at('PUT', '{module}', recordArea, 'UPDATE', updateRecords, {cost: costOfWrite, isHeavy: isBigWrite}),
  at('DELETE', '{module}', recordArea, 'DELETE', deleteRecords),
  at('GET', '{module}/{id}/__timeline', recordArea, 'READ', readTimeline),
  at('GET', '{module}/{id}', recordArea, 'READ', readRecord),
  at('PUT', '{module}/{id}', recordArea, 'UPDATE', updateRecords),
  at('DELETE', '{module}/{id}', recordArea, 'DELETE', deleteRecords),
]

export const isRecordRoute = (route: Route) => route.path[0] === '{module}' || route.path[0] === 'coql'

/** Returns the route, `no path` if no route has the path, or `no method` if routes have the path but none the method. */
export const findRoute = (method: string, segments: string[]): Route | 'no path' | 'no method' => {
  const onPath = routes.filter(route => isPath(route.path, segments))
  if (onPath.length === 0) return 'no path'
  const isFixed = onPath.some(route => route.path[0] !== '{module}')
  return onPath.filter(route => !isFixed || route.path[0] !== '{module}').find(route => route.method === method) ?? 'no method'
}

export const isOnHost = ({hosts = ['api']}: Route, host: Request['host']) => hosts.includes(host)

/** Returns the module of a path, for faults and the journal; undefined if the path names none. */
export const moduleNamed = (segments: string[]): string | undefined => (isReserved(segments[0]) ? undefined : segments[0])

const isReserved = (segment: string | undefined) =>
  ['org', 'users', 'settings', 'coql', 'upload', bulkRoot, resultRoot].includes(segment ?? '')

const isPath = (path: string[], segments: string[]) =>
  path.length === segments.length &&
  path.every((part, index) => part === segments[index] || (part === '{module}' ? !isReserved(segments[index]) : part === '{id}'))
