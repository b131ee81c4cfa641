import {globSync} from 'node:fs'
import {readFile} from 'node:fs/promises'
import test from 'ava'
import {parse} from 'yaml'
import {z} from 'zod'
import {startTestDeployment} from '../support/test-deployment.ts'

const Rules = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string().regex(/^lading-[a-z]+$/),
      rules: z
        .array(
          z.strictObject({
            alert: z.string().regex(/^Lading[A-Z]\w+$/),
            expr: z.string().min(1),
            for: z.string().regex(/^\d+[mh]$/),
            labels: z.strictObject({severity: z.enum(['critical', 'warning', 'info'])}),
            annotations: z.strictObject({summary: z.string().min(10), runbook: z.string().regex(/^docs\/operations\.md#[a-z-]+$/)}),
          }),
        )
        .min(1),
    }),
  ),
})

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const readRules = async () => Rules.parse(parse(await read('shared/telemetry/metrics/alerts.yml'))).groups.flatMap(({rules}) => rules)

const WORDS = new Set(['by', 'on', 'and', 'or', 'unless', 'without', 'ignoring', 'bool', 'offset'])

/** Returns the metric names in a PromQL expression: its words without matchers, ranges, groupings, functions and numbers. */
const namesIn = (expr: string): string[] =>
  [
    ...expr
      .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
      .replaceAll(/\b(by|on|without|ignoring)\s*\([^)]*\)/g, '')
      .matchAll(/[a-zA-Z_:][\w:]*(?!\w*\s*\()/g),
  ]
    .map(([name]) => name)
    .filter(name => !WORDS.has(name))

test('the metric names of an expression are found', t => {
  t.deepEqual(namesIn('max by (queue) (delta(a_b{x="c_d",y=~"e|f"}[15m])) > 0 and on (instance) g >= 0.5 or absent(h_i) == 1'), [
    'a_b',
    'g',
    'h_i',
  ])
})

test('every alert rule uses existing metrics, and counters with a rate or increase', async t => {
  const house = await startTestDeployment(t)
  const {text} = await house.as(house.adminToken)('GET', '/metrics')
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
  const given = [...types].flatMap(([name, type]) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]))
  const rules = await readRules()
  t.true(rules.length >= 25)
  for (const {alert, expr} of rules) {
    const names = namesIn(expr)
    t.true(names.length > 0, alert)
    for (const name of names) t.true(given.includes(name), `${alert}: ${name}`)
    for (const name of names.filter(name => types.get(name) === 'counter')) t.regex(expr, new RegExp(`(rate|increase)\\(${name}\\b`), alert)
  }
})

test('an alert about recent events does not compare the growth of a number that the service limits or deletes from', async t => {
  for (const {alert, expr} of await readRules()) t.notRegex(expr, /delta\(lading_(queue_jobs|rows_unsettled)/, alert)
})

test('the alert about late leases compares with the duration of a lease', async t => {
  const {expr} = (await readRules()).find(({alert}) => alert === 'LadingLeasesStale')!
  t.true(namesIn(expr).includes('lading_lease_seconds'), expr)
  // A reading without leases is 0, so the minimum is of readings with leases.
  t.regex(expr, /min\(lading_lease_shortest_seconds and lading_leases > 0\)/)
})

const Dashboard = z.object({
  panels: z.array(
    z.object({id: z.int(), title: z.string(), targets: z.array(z.object({expr: z.string(), legendFormat: z.string()})).min(1)}),
  ),
})

test('every panel of the dashboard uses existing metrics and labels, and counters with a rate or increase', async t => {
  const house = await startTestDeployment(t)
  const {text} = await house.as(house.adminToken)('GET', '/metrics')
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]))
  const given = [...types].flatMap(([name, type]) => (type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]))
  const {panels} = Dashboard.parse(JSON.parse(await read('shared/telemetry/metrics/dashboard.json')))
  t.true(panels.length >= 12)
  t.is(new Set(panels.map(({id}) => id)).size, panels.length)
  for (const {title, targets} of panels)
    for (const {expr, legendFormat} of targets) {
      const names = namesIn(expr)
      t.true(names.length > 0, title)
      for (const name of names) t.true(given.includes(name), `${title}: ${name}`)
      for (const name of names.filter(name => types.get(name) === 'counter'))
        t.regex(expr, new RegExp(`(rate|increase)\\(${name}\\b`), title)
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) t.regex(expr, new RegExp(`by \\([^)]*\\b${label}\\b`), title)
    }
})

test('the log messages that the runbook names are those of the code', async t => {
  const [, alerts = ''] = (await read('docs/operations.md')).split('## Alerts')
  const messages = [...alerts.matchAll(/log for `([^`]+)`/g)].map(([, message]) => message!)
  t.true(messages.length >= 3)
  const code = (await Promise.all(globSync('{shared,workers}/**/*.ts').map(read))).join('\n')
  for (const message of messages) t.true(code.includes(`'${message}'`), message)
})

test('rule names are unique, and each rule links to its row in the alert table of the runbook', async t => {
  const rules = await readRules()
  t.is(new Set(rules.map(({alert}) => alert)).size, rules.length)
  const runbook = await read('docs/operations.md')
  const anchors = [...runbook.matchAll(/<a id="([a-z-]+)">/g)].map(([, id]) => id)
  t.deepEqual([...new Set(rules.map(({annotations}) => annotations.runbook.split('#')[1]))].sort(), anchors.sort())
})
