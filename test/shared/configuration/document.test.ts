import test from 'ava'
import fc from 'fast-check'
import {findIssues, RegistryDocument} from '../../../shared/configuration/document.ts'
import {anyRegistry} from '../../support/registry.ts'

const settings = {dateFormat: 'yyyy-MM-dd', timezone: 'UTC', expressionContext: {}, aiSamplePolicy: 'masked'}
const leads = {
  key: 'leads',
  apiName: 'Leads',
  connectorId: 'con_a',
  enabled: true,
  singular: null,
  order: 1,
  uniqueFields: [],
  match: null,
  exclusions: [],
  seedMappings: [],
}
const good = {settings, writing: {}, modules: [leads], fields: {leads: [{apiName: 'Email', pii: true}]}}

/** Invalid documents, each with the one path that its issues have. */
const bad: [string, unknown, (string | number)[]][] = [
  ['no object', 7, []],
  ['null', null, []],
  ['a list', [], []],
  ['an unknown key', {...good, extra: 1}, []],
  ['no settings', {...good, settings: undefined}, ['settings']],
  ['an unknown setting', {...good, settings: {...settings, colour: 'red'}}, ['settings']],
  ['a date format without a year', {...good, settings: {...settings, dateFormat: 'dd.MM'}}, ['settings', 'dateFormat']],
  ['an unknown time zone', {...good, settings: {...settings, timezone: 'Mars/Olympus'}}, ['settings', 'timezone']],
  ['an offset for a time zone', {...good, settings: {...settings, timezone: '+02:00'}}, ['settings', 'timezone']],
  ['an unknown policy', {...good, settings: {...settings, aiSamplePolicy: 'all'}}, ['settings', 'aiSamplePolicy']],
  ['a context that is a list', {...good, settings: {...settings, expressionContext: []}}, ['settings', 'expressionContext']],
  [
    'a context with numbers that lose digits',
    {...good, settings: {...settings, expressionContext: JSON.parse('{"owners":[5725767000000411001],"most":1e999}')}},
    ['settings', 'expressionContext'],
  ],
  [
    'a context of 65 KiB',
    {...good, settings: {...settings, expressionContext: {a: 'x'.repeat(65 * 1024)}}},
    ['settings', 'expressionContext'],
  ],
  ['a connection that is not paused', {...good, writing: {con_a: {paused: false}}}, ['writing', 'con_a', 'paused']],
  ['a module without a value', {...good, modules: [{...leads, enabled: undefined}]}, ['modules', 0, 'enabled']],
  ['a key with a dot', {...good, modules: [{...leads, key: 'a.b'}], fields: {}}, ['modules', 0, 'key']],
  ['a key with underscores in front', {...good, modules: [{...leads, key: '__proto__'}], fields: {}}, ['modules', 0, 'key']],
  ['a key twice', {...good, modules: [leads, {...leads, apiName: 'Deals', order: 2}]}, ['modules', 1, 'key']],
  [
    'a key twice, in another case',
    {...good, modules: [leads, {...leads, key: 'Leads', apiName: 'Deals', order: 2}]},
    ['modules', 1, 'key'],
  ],
  ['a module twice', {...good, modules: [leads, {...leads, key: 'other', order: 2}]}, ['modules', 1, 'apiName']],
  ['a repeated order', {...good, modules: [leads, {...leads, key: 'b', apiName: 'B'}]}, ['modules', 1, 'order']],
  [
    'a mapping without a mode',
    {...good, modules: [{...leads, seedMappings: [{field: 'A', mode: 'x'}]}]},
    ['modules', 0, 'seedMappings', 0, 'mode'],
  ],
  ['a match without fields', {...good, modules: [{...leads, match: {by: []}}]}, ['modules', 0, 'match', 'by']],
  [
    'more sets than modules can be',
    {...good, fields: Object.fromEntries(Array.from({length: 501}, (_, n) => [`k${n}`, [{apiName: 'A'}]]))},
    ['fields'],
  ],
  ['fields without their module', {...good, modules: []}, ['fields', 'leads']],
  ['fields that are no list', {...good, fields: {leads: {}}}, ['fields', 'leads']],
  ['fields without any', {...good, fields: {leads: []}}, ['fields', 'leads']],
  ['an annotation without a name', {...good, fields: {leads: [{pii: true}]}}, ['fields', 'leads', 0, 'apiName']],
  ['an annotation with an empty name', {...good, fields: {leads: [{apiName: ''}]}}, ['fields', 'leads', 0, 'apiName']],
  ['an annotation twice', {...good, fields: {leads: [{apiName: 'A'}, {apiName: 'A'}]}}, ['fields', 'leads', 1, 'apiName']],
  ['an example that is a number', {...good, fields: {leads: [{apiName: 'A', examples: ['a', 7]}]}}, ['fields', 'leads', 0, 'examples', 1]],
  [
    'an unknown time of a patch',
    {...good, fields: {leads: [{apiName: 'A', defaultMapping: {patch: {when: ['never']}}}]}},
    ['fields', 'leads', 0, 'defaultMapping', 'patch', 'when', 0],
  ],
]

for (const [what, document, place] of bad)
  test(`a registry is refused at its path: ${what}`, t => {
    const issues = findIssues(document)
    t.deepEqual(
      issues.map(({path}) => path),
      [place],
      JSON.stringify(issues),
    )
    t.true(issues.every(({message}) => message.length > 0))
  })

test('a valid registry is accepted unchanged, with or without a version', t => {
  t.deepEqual(findIssues(good), [])
  t.deepEqual(RegistryDocument.parse({...good, version: 3}), {...good, version: 3} as never)
})

/** Breaks one value in a valid registry. Returns the path of the value, or null if the registry has none. */
const spoil = (registry: any, pick: number, junk: unknown): (string | number)[] | null => {
  const places: [any, string | number, (string | number)[]][] = []
  const walk = (value: any, path: (string | number)[]) => {
    for (const key of Array.isArray(value) ? value.keys() : Object.keys(value ?? {})) {
      // The expression context may be any JSON.
      if (key === 'expressionContext') continue
      places.push([value, key, [...path, key]])
      if (typeof value[key] === 'object') walk(value[key], [...path, key])
    }
  }
  walk(registry, [])
  const place = places[pick % places.length]
  if (!place) return null
  place[0][place[1]] = junk
  return place[2]
}

test('every broken value has an issue at or below its path', t => {
  const junk = fc.constantFrom<unknown>({junk: 1}, [[]], 1.5, Number.MAX_SAFE_INTEGER)
  fc.assert(
    fc.property(anyRegistry(['con_a']), fc.nat(), junk, (registry, pick, value) => {
      const broken = structuredClone(registry)
      const place = spoil(broken, pick, value)!
      const issues = findIssues(broken)
      // A whole number may be a valid order, so the registry may still be valid.
      if (place.at(-1) === 'order' && typeof value === 'number' && Number.isInteger(value) && issues.length === 0) return
      t.true(issues.length > 0, JSON.stringify(place))
      const isThere = ({path}: {path: (string | number)[]}) => place.every((step, at) => at >= path.length || path[at] === step)
      t.true(issues.some(isThere), `${JSON.stringify(place)} is not among ${JSON.stringify(issues)}`)
    }),
    {numRuns: 500},
  )
})

const mebibyte = 1024 ** 2
const hostile: [string, unknown][] = [
  ['modules that are numbers', {...good, modules: Array.from({length: mebibyte / 2}, () => 1)}],
  ['annotations that are numbers', {...good, fields: {leads: Array.from({length: mebibyte / 2}, () => 1)}}],
  ['fields of a hundred thousand modules', {...good, fields: Object.fromEntries(Array.from({length: 100_000}, (_, n) => [`m${n}`, 1]))}],
  ['many unknown keys', Object.fromEntries(Array.from({length: 100_000}, (_, n) => [`m${n}`, 1]))],
  ['many paused connections', {...good, writing: Object.fromEntries(Array.from({length: 100_000}, (_, n) => [`c${n}`, 1]))}],
  [
    'as many annotations as fit, half of them repeated',
    {
      ...good,
      modules: Array.from({length: 40}, (_, n) => ({...leads, key: `m${n}`, apiName: `M${n}`, order: n + 1})),
      fields: Object.fromEntries(
        Array.from({length: 40}, (_, n) => [`m${n}`, Array.from({length: 1000}, (_, m) => ({apiName: `f${m % 500}`}))]),
      ),
    },
  ],
]
for (const [what, document] of hostile)
  test(`validation is bounded in time and size: ${what}`, t => {
    const started = performance.now()
    const issues = findIssues(document)
    const ms = performance.now() - started
    t.true(issues.length > 0 && issues.length <= 100)
    t.true(JSON.stringify(issues).length < 100_000)
    t.true(ms < 1500, `${ms} ms`)
  })
