import {type Json, readPages, strongETag} from '../../http.ts'
import type {ImportCase} from './case.ts'
import {type Difference, orDifferences} from './difference.ts'
import {runCase} from './run-case.ts'
import type {TestOrg, TestStack} from './stack.ts'
import type {Suite} from './suite.ts'

export type CaseResult = {suite: string; name: string; ms: number; passed: boolean; differences: Difference[]}

/** Runs the cases of a folder in a new org, one after another, because they share the records of the stand-in. */
export async function* runSuite(stack: TestStack, suite: Suite): AsyncGenerator<CaseResult> {
  const startedAt = Date.now()
  const org = await stack.openOrg(suite.connections)
  const unpushed = await orDifferences(async () => {
    await push(org, suite.bundle)
    return []
  })
  const templates = new Map<string, Json>()
  for await (const template of readPages(org.session.client, org.session.path('templates'), 'templates', {limit: 200})) {
    const {template: whole} = await org.session.client.get(org.session.path(`templates/${template.id}`))
    templates.set(template.name, whole)
  }
  let since = startedAt
  for (const one of suite.cases) {
    const differences = unpushed.length > 0 ? unpushed : await runCase(settingOf(org, suite, templates), one)
    yield resultOf(suite, one, {since, differences})
    since = Date.now()
  }
}

const resultOf = (
  {directory}: Suite,
  {name}: ImportCase,
  {since, differences}: {since: number; differences: Difference[]},
): CaseResult => ({suite: directory, name, ms: Date.now() - since, passed: differences.length === 0, differences})

/**
 * Pushes the configuration with the ids of the new connections. Leaves out templates and modules whose connection is not in discovery.json. Tests
 * write without a person, so it also leaves out paused writes, `approvalAbove` and `guard`.
 */
const push = async ({session: {client, path}, connections}: TestOrg, bundle: Json) => {
  let text = JSON.stringify(bundle)
  for (const {connectorId, now} of connections) text = text.replaceAll(JSON.stringify(connectorId), JSON.stringify(now))
  const body = JSON.parse(text)
  const isKnown = ({connectorId}: Json) => !connectorId || connections.some(({now}) => now === connectorId)
  if (body.templates) body.templates = body.templates.filter(isKnown)
  if (body.registry) {
    const {settings, modules, fields} = body.registry
    const dropped = new Set(modules.filter((one: Json) => !isKnown(one)).map(({key}: Json) => key))
    body.registry = {
      settings: {...settings, approvalAbove: null, guard: null},
      writing: {},
      modules: modules.filter(isKnown),
      fields: Object.fromEntries(Object.entries(fields).filter(([key]) => !dropped.has(key))),
    }
  }
  const {headers} = await client.call('GET', path('config/registry'))
  await client.call('POST', path('config/bundle'), {body, headers: {'if-match': strongETag(headers)!}})
}

const settingOf = ({session, crm, connections}: TestOrg, suite: Suite, templates: Map<string, Json>) => ({
  session,
  templates,
  crmOf: (connectorId: string | null) => {
    const {now, crm: key, connectorId: before} = connections.find(one => one.now === connectorId) ?? connections[0]!
    const {modules} = suite.connections.find(one => one.connectorId === before)!
    return {crm, key, modules: modules as Json[], connectorId: now}
  },
})
