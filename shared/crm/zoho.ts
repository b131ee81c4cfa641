import type {Capabilities} from '../../sql/doctor-reports.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {openBulkRead} from './bulk/bulk-read.ts'
import {openBulkWrite} from './bulk/bulk-write.ts'
import type {Client} from './client.ts'
import {openControls} from './controls.ts'
import {findRecords, openQueryLimits, type QueryState} from './coql.ts'
import type {Adapter, Verbs} from './crm.ts'
import {deleteRecords} from './deletes.ts'
import {runProbes} from './doctor/run-probes.ts'
import {searchMade} from './find-created.ts'
import type {Grants} from './grant.ts'
import {findHosts, type Hosts, isApiDomain} from './hosts.ts'
import type {RateLimiter} from './limits/adhoc-limiter.ts'
import {readLicence} from './limits/licence.ts'
import type {CrmQuotas} from './limits/quota.ts'
import {readModules} from './modules.ts'
import {fieldsPerRead} from './read-in-parts.ts'
import {createRecords, readNewest, readRecords, readRecordWithClock, updateRecords} from './record-calls.ts'
import {countRecords, readChanges} from './record-changes.ts'
import {readBin, restoreRecords} from './recycle-bin.ts'
import {openCrmRequest, type SendCrmRequest} from './request.ts'
import {openRefresh} from './sealed.ts'
import {searchValue, searchWord} from './search.ts'
import {readRows, replaceRows} from './subforms.ts'
import {addTags} from './tags.ts'
import {readTimeline} from './timeline.ts'
import {revokeToken} from './token.ts'
import {countActiveUsers, findUser, listUsers, readCurrentUser, readOwnAccess} from './users.ts'

export type ZohoDeps = {
  config: Config
  client: Client
  grants: Grants
  allowances: CrmQuotas
  limiterOf(crmOrg: {dc: string; crmOrgId: string}, slots: 'own' | undefined): RateLimiter
}

const revokeSeconds = 8
/** The CRM refuses a whole read of records if one id is higher. Source: the vendor's OpenAPI, where an id is an int64. */
const highestId = 2n ** 63n - 1n

export const openZoho = (deps: ZohoDeps): Adapter => ({
  async open({id, dc, crmOrgId, crmUserId, apiDomain, capabilities}, {upkeep = false, slots, onCall}) {
    const hosts = findHosts(deps.config, dc)
    if (!hosts || !isApiDomain(hosts, apiDomain)) {
      throw new Refusal('CONNECTION_UNAVAILABLE', 'The API host of this connection does not belong to its data centre. Connect it again')
    }
    const crmOrg = {dc, crmOrgId}
    await deps.allowances.look(crmOrg)
    return verbs(
      {capabilities, user: crmUserId, hosts: {...hosts, apiDomain}},
      openCrmRequest(deps, {connector: id, hosts, apiDomain, crmOrg, upkeep, limiter: deps.limiterOf(crmOrg, slots), onCall}),
    )
  },
  async revoke({id, dc}, refreshSealed) {
    deps.grants.forget(id)
    const hosts = findHosts(deps.config, dc)
    if (!hosts) return `There is no data centre ${dc}`
    const refreshToken = openRefresh(deps.config.SECRETS_KEYS, id, refreshSealed)
    return revokeToken(deps.client, {hosts, refreshToken, timeoutSeconds: revokeSeconds})
  },
})

type VerbContext = {capabilities: Capabilities; user: string; hosts: Hosts}

const verbs = ({capabilities, user, hosts}: VerbContext, sendCrmRequest: SendCrmRequest): Verbs => {
  const queries = {capabilities, controls: openControls(), limits: openQueryLimits(capabilities)}
  return Object.assign(verbsOf(sendCrmRequest, queries), undoVerbs(sendCrmRequest, {capabilities, user}), bulkVerbs(sendCrmRequest, hosts))
}

const bulkVerbs = (sendCrmRequest: SendCrmRequest, hosts: Hosts): Pick<Verbs, 'bulkRead' | 'bulkWrite'> => ({
  bulkRead: openBulkRead(sendCrmRequest),
  bulkWrite: openBulkWrite(sendCrmRequest, hosts),
})

type UndoVerb = 'deleteRecords' | 'restoreRecords' | 'readBin' | 'readTimeline' | 'unmodifiedSince'

const undoVerbs = (
  sendCrmRequest: SendCrmRequest,
  {capabilities, user}: {capabilities: Capabilities; user: string},
): Pick<Verbs, UndoVerb> => ({
  deleteRecords: (module, ids, options) => deleteRecords(sendCrmRequest, module, ids, options),
  restoreRecords: (ids, options) => restoreRecords(sendCrmRequest, ids, options),
  readBin: (ids, options) => readBin(sendCrmRequest, ids, options),
  readTimeline: (module, id, since, options) => readTimeline(sendCrmRequest, {module, id, since, user}, options),
  unmodifiedSince: capabilities.unmodifiedSince,
})

const verbsOf = (sendCrmRequest: SendCrmRequest, queries: QueryState): Omit<Verbs, UndoVerb | 'bulkRead' | 'bulkWrite'> => ({
  get valuesPerQuery() {
    return queries.limits.valuesPerQuery
  },
  columnsPerQuery: queries.capabilities.coqlColumns - 2,
  fieldsPerRead,
  valuesPerCondition: queries.capabilities.coqlInSize,
  lagSeconds: 2 * queries.capabilities.coqlLagSeconds,
  isRecordId: text => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= highestId,
  createRecords: (module, records, options) => createRecords(sendCrmRequest, module, records, options),
  updateRecords: (module, records, options) => updateRecords(sendCrmRequest, module, records, options),
  addTags: (module, tagged, options) => addTags(sendCrmRequest, module, tagged, options),
  replaceRows: (module, parents, options) => replaceRows(sendCrmRequest, module, parents, options),
  readRows: (module, id, subform, options) => readRows(sendCrmRequest, module, id, subform, {...options, ...queries}),
  findRecords: (query, options) => findRecords(sendCrmRequest, query, {...options, ...queries}),
  findMade: (query, options) => searchMade(sendCrmRequest, query, {...options, ...queries}),
  readRecord: async (module, id, options) => (await readRecordWithClock(sendCrmRequest, module, id, options)).record,
  readRecordWithClock: (module, id, options) => readRecordWithClock(sendCrmRequest, module, id, options),
  readNewest: (module, options) => readNewest(sendCrmRequest, module, options),
  readChanges: (query, options) => readChanges(sendCrmRequest, query, {...options, capabilities: queries.capabilities}),
  countRecords: (module, options) => countRecords(sendCrmRequest, module, options),
  readRecords: (query, options) => readRecords(sendCrmRequest, query, options),
  searchWord: (query, options) => searchWord(sendCrmRequest, query, options),
  searchValue: (query, options) => searchValue(sendCrmRequest, query, options),
  readLicence: options => readLicence(sendCrmRequest, options),
  currentUser: options => readCurrentUser(sendCrmRequest, options),
  countActiveUsers: options => countActiveUsers(sendCrmRequest, options),
  findUser: (zuid, options) => findUser(sendCrmRequest, zuid, options),
  readAccess: options => readOwnAccess(sendCrmRequest, options),
  listUsers: options => listUsers(sendCrmRequest, options),
  readModules: options => readModules(sendCrmRequest, options),
  runProbes: options => runProbes(sendCrmRequest, {...options, ...queries}),
})
