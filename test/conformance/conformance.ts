import assert from 'node:assert/strict'
import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {createApp} from '../../api/app.ts'
import {routes} from '../../api/routes.ts'
import {type Deployment, openDeployment} from '../support/deployment.ts'
import {mountFixture} from './fixture.ts'
import {startProxy} from './proxy.ts'
import {type Check, type Edition, isTicked, readRequired, type Walked, walk} from './referee.ts'

/** The tools that our own server must list. */
const TOOLS = ['list_modules', 'get_fields', 'propose_mapping', 'test_expression', 'validate_template', 'forecast_import']

/** Checks of the suite that need tools which only the fixture has. */
const needsTools = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
]
const needsLists = ['prompts', 'resources', 'resources-templates'].map(list => `sep-2549-${list}-list-caching-hints`)

/** The scenarios for our own server, each with the checks that our server cannot meet. */
const ours: {edition: Edition; revision: string[]; scenarios: Record<string, string[]>}[] = [
  {
    edition: 'conformance-2026',
    revision: ['--spec-version', '2026-07-28'],
    scenarios: {
      'tools-list': [],
      'dns-rebinding-protection': [],
      'http-header-validation': [],
      'server-stateless': needsTools,
      caching: needsLists,
    },
  },
  {
    edition: 'conformance-2025',
    revision: [],
    scenarios: {'server-initialize': [], ping: [], 'tools-list': [], 'dns-rebinding-protection': []},
  },
]

/**
 * Scenarios that need sessions. In the older protocol, a server without sessions cannot send requests to its client or keep streams open.
 */
const needsSession = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
  'server-sse-multiple-streams',
]
/** Scenarios that the suite does not score. The fixture must pass them too. */
const besides = ['http-header-validation', 'http-custom-header-server-validation', 'json-schema-2020-12']

const say = (line: string) => process.stdout.write(`${line}\n`)

const assertTools = async (url: string) => {
  const headers = {'content-type': 'application/json', accept: 'application/json, text/event-stream'}
  const body = JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/list'})
  const text = await (await fetch(url, {method: 'POST', headers, body})).text()
  const {result} = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
  assert.deepEqual(
    result.tools.map(({name}: {name: string}) => name),
    TOOLS,
  )
  say(`our server lists ${TOOLS.join(', ')}`)
}

const failuresOf = (checks: Check[]) => checks.filter(({status}) => status === 'FAILURE' || status === 'WARNING').map(({id}) => id)

const walkOurs = async (url: string) => {
  for (const {edition, revision, scenarios} of ours)
    for (const [scenario, unmet] of Object.entries(scenarios)) {
      const checks = (await walk(edition, url, ['--scenario', scenario, ...revision])).get(scenario)
      const held = checks?.filter(({status}) => status === 'SUCCESS').length ?? 0
      say(`ours, ${edition}: ${scenario}: ${held} checks held${unmet.length > 0 ? `, ${unmet.length} need what only a fixture has` : ''}`)
      assert.ok(checks && held > 0, `${scenario} was walked`)
      assert.deepEqual(failuresOf(checks).toSorted(), unmet.toSorted(), `${scenario}: ${JSON.stringify(checks)}`)
    }
}

type Fixture = {edition: Edition; more: readonly string[]; required: string[]; unmet?: string[]; besides?: string[]}

const walkFixture = async (url: string, {edition, more, required, unmet = [], besides: also = []}: Fixture) => {
  const walked: Walked = await walk(edition, url, more)
  const ticked = required.filter(scenario => isTicked(walked.get(scenario)))
  const missed = required.filter(scenario => !ticked.includes(scenario))
  const warned = missed.filter(scenario => walked.get(scenario)?.every(({status}) => status === 'WARNING'))
  const counted =
    warned.length > 0 ? ` (${ticked.length + warned.length} as the suite counts, which only warns of ${warned.join(', ')})` : ''
  say(`fixture, ${edition} ${more.join(' ')}: ${ticked.length} of ${required.length} scenarios${counted}`)
  for (const scenario of missed) say(`  not met: ${scenario}${unmet.includes(scenario) ? ' (needs a session)' : ''}`)
  assert.deepEqual(missed.toSorted(), unmet.toSorted(), 'what is not met is what cannot be')
  for (const scenario of also) assert.ok(isTicked(walked.get(scenario)), `${scenario}: ${JSON.stringify(walked.get(scenario))}`)
  if (also.length > 0) say(`  and not scored: ${also.join(', ')}`)
}

const openFixture = async ({tools}: Deployment) => {
  const table = [...routes.filter(({path}) => path !== '/mcp'), mountFixture()]
  const server = createServer(createApp(tools, {routes: table}).callback())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: async () => void server.close().closeAllConnections()}
}

/**
 * The functions that end what `npm run conformance` has started. This command runs both editions of the protocol's conformance suite against
 * `/mcp`. Our own server runs the scenarios that need none of the suite's tools. Then a fixture with all these tools runs every required
 * scenario on the same mount. The command asserts named scenarios, never a count.
 */
const begun: (() => Promise<unknown>)[] = []
try {
  const house = await openDeployment('conformance', {environment: {RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}}, end => begun.push(end))
  const {token} = await house.makeOrg()
  const fixture = await openFixture(house)
  begun.push(fixture.stop)
  const [own, other] = [await startProxy(house.url, token), await startProxy(fixture.url, token)]
  begun.push(own.stop, other.stop)
  await assertTools(own.url)
  await walkOurs(own.url)
  const newer = {edition: 'conformance-2026', more: ['--requirements', '2026-07-28']} as const
  await walkFixture(other.url, {...newer, required: await readRequired('2026-07-28'), besides})
  const older = {required: await readRequired('2025-11-25'), unmet: needsSession}
  await walkFixture(other.url, {edition: 'conformance-2026', more: ['--requirements', '2025-11-25'], ...older})
  await walkFixture(other.url, {edition: 'conformance-2025', more: [], ...older})
} finally {
  for (const end of begun.toReversed()) await end()
}
