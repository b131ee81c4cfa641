import fc from 'fast-check'
import {applyDiscovery} from '../../shared/configuration/discovery.ts'
import type {Registry, RegistryModule} from '../../shared/configuration/document.ts'
import {newId} from '../../shared/ids.ts'
import {isExact} from '../../shared/schema/exact-numbers.ts'
import {insertConnector} from '../../sql/connectors.ts'
import {type DiscoveredModule, findLatestDiscovery, insertDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import type {Call} from './client.ts'
import {module as discovered, field} from './discovered.ts'
import {ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

export const addConnector = ({db}: TestDeployment, org: string, name = 'One'): Promise<string> =>
  db.transaction(async tx => {
    const details = {dc: 'local', crmOrgId: name, apiDomain: 'http://127.0.0.1:9', crmUserId: '1', crmUserName: 'Ana', scopes: []}
    return (await insertConnector(tx, {id: newId('con'), org, name, person: null, ...details})).id
  })

export const moduleOf = (apiName: string, fields: string[]): DiscoveredModule =>
  discovered(
    apiName,
    fields.map(name => field(name)),
    {label: apiName, singular: apiName.replace(/s$/, ''), id: apiName, kind: 'default', namingField: null},
  )

export const usualModules = [
  moduleOf('Accounts', ['Account_Name', 'Account_Number', 'Phone']),
  moduleOf('Leads', ['Last_Name', 'Email', 'Company']),
  moduleOf('Deals', ['Deal_Name', 'Amount']),
]

/** Stores a discovery of these modules, as the worker does. */
export const discover = ({db}: TestDeployment, org: string, connector: string, modules: DiscoveredModule[] = usualModules) =>
  db.transaction(async tx => {
    const before = await findLatestDiscovery(tx, connector)
    const known = before ? await listDiscoveredModules(tx, before.id) : []
    const diff = {since: before?.id ?? null, added: [], removed: [], changed: []}
    await insertDiscovery(tx, {id: newId('dis'), connector, modules, diff})
    await applyDiscovery(tx, {org, connector, before: known, now: modules})
  })

/** Creates an org with an admin, one connection and its discovery. */
export const openRegistry = async (world: TestDeployment) => {
  const {org, token, person} = await world.makeOrg({role: 'admin'})
  const connector = await addConnector(world, org)
  await discover(world, org, connector)
  const call = world.as(token)
  const at = (path: string) => `/orgs/${org}/config/${path}`
  const version = async () => (await ok(call('GET', at('registry')), 200)).version as number
  return {org, token, person, connector, call, at, version}
}

type Change = {subject: string; target: string | null; after: any; connectorId: string | null; registryVersion: number | null; id: string}

/** Reads every change of these connections, page by page, and sorts them by registry version. */
export const readChanges = async (call: Call, org: string, connectors: string[], limit = 200): Promise<Change[]> => {
  const found = new Map<string, Change>()
  for (const connector of connectors) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path: string = `/orgs/${org}/config/changes?connector=${connector}&limit=${limit}${cursor && `&cursor=${cursor}`}`
      const page: any = await ok(call('GET', path), 200)
      for (const change of page.changes) found.set(change.id, change)
      cursor = page.nextCursor
    }
  }
  const order = ({registryVersion, id}: Change) => `${String(registryVersion ?? 0).padStart(9, '0')} ${id}`
  return [...found.values()].toSorted((one, other) => (order(one) < order(other) ? -1 : 1))
}

const module = {enabled: null, singular: null, uniqueFields: [], match: null, exclusions: [], seedMappings: []}

/**
 * Applies changes to a snapshot in order. `after` of a change is the whole new value. Uses no code of the service, so that tests can compare the
 * result with the service's registry.
 */
export const replay = (snapshot: any, changes: Pick<Change, 'subject' | 'target' | 'after' | 'connectorId'>[]) => {
  const registry = structuredClone(snapshot)
  for (const {subject, target, after, connectorId} of changes) {
    const [kind, name] = subject.split('.') as [string, string]
    if (kind === 'settings' && name !== 'followsCrmRoles') replayValue(registry.settings, name, after)
    if (kind === 'writing') {
      if (after) registry.writing[connectorId!] = {paused: true}
      else delete registry.writing[connectorId!]
    }
    if (kind === 'module') replayModule(registry, name, target!, after)
    if (kind === 'field') replayField(registry.fields, name, target!, after)
  }
  registry.modules.sort((one: any, other: any) => one.order - other.order)
  return registry
}

const replayModule = (registry: any, name: string, key: string, after: any) => {
  if (name === 'added') registry.modules.push({...structuredClone(module), ...after})
  else if (name === 'removed') registry.modules = registry.modules.filter((one: any) => one.key !== key)
  else {
    const found = registry.modules.find((one: any) => one.key === key)
    replayValue(found, name, after)
  }
}

/** Sets a value. Null removes a value that documents omit if it is unset. */
const replayValue = (target: any, name: string, after: any) => {
  if (after === null && ['onEdited', 'idempotencyField'].includes(name)) delete target[name]
  else target[name] = after
}

const replayField = (fields: any, name: string, target: string, after: any) => {
  const [key, ...rest] = target.split('.') as [string, ...string[]]
  const apiName = rest.join('.')
  if (!Object.hasOwn(fields, key)) fields[key] = []
  if (name === 'order') fields[key].sort((one: any, other: any) => after.indexOf(one.apiName) - after.indexOf(other.apiName))
  else {
    const value = name === 'excludeFromAi' ? 'pii' : name
    let annotation = fields[key].find((one: any) => one.apiName === apiName)
    if (!annotation) fields[key].push((annotation = {apiName}))
    if (value === 'annotated') delete annotation.annotated
    else if (after === null) delete annotation[value]
    else annotation[value] = after
    const isEmpty = Object.keys(annotation).length === 1
    if (isEmpty && after === null) fields[key] = fields[key].filter((one: any) => one !== annotation)
  }
  if (fields[key].length === 0) delete fields[key]
}

const name = fc.constantFrom('Email', 'Last_Name', 'Phone', 'Company', 'Fax', 'A.b', 'constructor', 'Ünïcode Näme')
const words = fc.string({maxLength: 20, unit: 'grapheme'}).filter(text => !text.includes('\0') && text.isWellFormed())
const names = fc.uniqueArray(name, {maxLength: 4})
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, {nil: undefined})
const drop = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value))

const mapping = fc
  .record({
    mode: maybe(fc.constantFrom('column', 'static', 'expression', 'search', 'skip')),
    source: maybe(fc.option(words)),
    staticValue: maybe(fc.option(words)),
    skip: maybe(fc.boolean()),
    patch: maybe(
      fc.record({
        when: fc.uniqueArray(fc.constantFrom('created', 'updated', 'error')),
        overwrite: fc.constantFrom('always', 'if-absent'),
      }),
    ),
  })
  .map(drop)

const annotation = fc
  .record({
    apiName: name,
    description: maybe(words),
    format: maybe(words),
    examples: maybe(fc.array(words, {maxLength: 3})),
    aliases: maybe(fc.array(words, {maxLength: 3})),
    pii: maybe(fc.boolean()),
    derived: maybe(fc.boolean()),
    excluded: maybe(fc.boolean()),
    defaultMapping: maybe(mapping),
  })
  .map(drop)

const json = fc
  .jsonValue({maxDepth: 3})
  .filter(value => {
    const text = JSON.stringify(value)
    return !/\\u0000|\\ud[89a-f]|__proto__/i.test(text) && text.isWellFormed()
  })
  .map(value => JSON.parse(JSON.stringify(value), (_, part) => (isExact(part) ? part : 0)))

const settings = fc
  .record({
    dateFormat: fc.constantFrom('yyyy-MM-dd', 'dd.MM.yyyy', 'M/d/yy', 'd MM yyyy'),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York'),
    expressionContext: fc.dictionary(
      words.filter(key => key !== '__proto__'),
      json,
      {maxKeys: 3},
    ),
    aiSamplePolicy: fc.constantFrom('allow', 'masked', 'deny'),
    onEdited: maybe(fc.constantFrom('overwrite', 'keep', 'ask')),
  })
  .map(drop)

const values = fc
  .record({
    enabled: fc.boolean(),
    singular: fc.option(words.filter(text => text !== '' && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text))),
    uniqueFields: names,
    match: fc.option(
      fc.record({by: fc.uniqueArray(name, {minLength: 1, maxLength: 3}), onMany: maybe(fc.constantFrom('ask', 'first', 'skip'))}).map(drop),
    ),
    exclusions: names,
    onEdited: maybe(fc.constantFrom('overwrite', 'keep', 'ask')),
    seedMappings: fc.array(
      fc.tuple(mapping, name).map(([one, field]) => ({...one, field})),
      {maxLength: 3},
    ),
  })
  .map(drop)

/** Generates a random registry for these connections. */
export const anyRegistry = (connectors: string[]): fc.Arbitrary<Registry> => {
  const identities = fc.uniqueArray(fc.tuple(fc.constantFrom(...connectors), fc.constantFrom('Leads', 'Accounts', 'Deals', 'Ämter')), {
    selector: ([connector, apiName]) => `${connector} ${apiName}`,
    maxLength: 6,
  })
  const keys = fc.uniqueArray(fc.constantFrom('leads', 'accounts', 'constructor', 'toString', 'x-1', 'y_2'), {minLength: 6, maxLength: 6})
  const sets = fc.array(fc.uniqueArray(annotation, {selector: ({apiName}) => apiName, maxLength: 4}), {minLength: 6, maxLength: 6})
  return fc
    .record({
      settings,
      identities,
      keys,
      sets,
      paused: fc.subarray(connectors),
      values: fc.array(values, {minLength: 6, maxLength: 6}),
      gaps: fc.array(fc.integer({min: 1, max: 9}), {minLength: 6, maxLength: 6}),
    })
    .map(given => {
      let order = 0
      const modules = given.identities.map(([connectorId, apiName], at) => {
        order += given.gaps[at]!
        return {key: given.keys[at]!, apiName, connectorId, ...given.values[at]!, order} as RegistryModule
      })
      const fields = Object.fromEntries(modules.map(({key}, at) => [key, given.sets[at]!]).filter(([, set]) => set!.length > 0))
      const writing = Object.fromEntries(given.paused.map(id => [id, {paused: true}]))
      // The registry has the form that it has in JSON, without undefined and minus zero.
      return JSON.parse(JSON.stringify({settings: given.settings, writing, modules, fields})) as Registry
    })
}
