import {PassThrough} from 'node:stream'
import test from 'ava'
import fc from 'fast-check'
import {filesOf, hashOf as hash, isOurs, mergeFiles, slugsOf} from '../../api/clients/cli/config-files.ts'
import {diffLines} from '../../api/clients/cli/diff.ts'
import {describeEnding, exitOf, verifyLines} from '../../api/clients/cli/ending.ts'
import {Failure, failureOf} from '../../api/clients/cli/failure.ts'
import {bindFlows, fillSlots} from '../../api/clients/cli/inputs.ts'
import {rowRange} from '../../api/clients/cli/options.ts'
import {openOutput} from '../../api/clients/cli/output.ts'
import {clean, duration, moment, size} from '../../api/clients/cli/phrases.ts'
import {progressLine, runProgress} from '../../api/clients/cli/progress.ts'
import {isPastHalf, serverOf} from '../../api/clients/cli/session.ts'
import {readSettings} from '../../api/clients/cli/settings.ts'
import {formatJson} from '../../api/clients/cli/stable-json.ts'
import {formatPlain, formatTable, shorten, widthOf} from '../../api/clients/cli/table.ts'
import {createProgram} from '../../api/clients/cli.ts'
import {nouns} from '../../api/clients/commands/nouns.ts'
import {ApiError, Unreachable} from '../../api/clients/http.ts'
import {pauseBefore} from '../../api/clients/retry.ts'

/** Columns of a table. */
const columns = [{head: 'ID', keep: true}, {head: 'NAME'}, {head: 'ROWS', right: true}]

test('a table fits its width, shortens the longest column, and is printed as a list where nothing fits', t => {
  const rows = [
    ['imp_0123456789', 'a name that is far too long for a line', '1,234'],
    ['imp_2', 'short', '5'],
  ]
  t.deepEqual(formatTable(columns, rows, 40), [
    'ID              NAME                ROWS',
    'imp_0123456789  a name that is f…  1,234',
    'imp_2           short                  5',
  ])
  t.deepEqual(formatTable(columns, [rows[1]!], 8), ['ID    imp_2', 'NAME  short', 'ROWS  5'])
  t.deepEqual(formatPlain(columns, rows)[1], 'imp_0123456789\ta name that is far too long for a line\t1,234')
  t.is(shorten('ÄÖÜ漢字漢字', 6), 'ÄÖÜ漢…')
  t.is(widthOf('👩‍👩‍👧 é'), 4)
})

test('no line of a table or of progress is wider than a terminal that has room for the ids', t => {
  const cell = fc.string({unit: 'grapheme', maxLength: 60})
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constant('imp_0123456789'), cell, cell), {maxLength: 5}),
      fc.integer({min: 34, max: 120}),
      (rows, width) => {
        for (const line of formatTable(columns, rows, width)) t.true(widthOf(line) <= width, `${width}: ${line}`)
      },
    ),
    {numRuns: 200},
  )
  fc.assert(
    fc.property(
      fc.float({min: 0, max: 1, noNaN: true}),
      fc.array(cell.map(clean)),
      cell.map(clean),
      fc.integer({min: 12, max: 200}),
      (share, parts, label, width) => {
        const line = progressLine({label, share, parts}, width)
        t.true(widthOf(line) < width, `${width}: ${line}`)
      },
    ),
    {numRuns: 300},
  )
})

test('a progress line shows as much as fits, rows before outcomes', t => {
  const progress = runProgress(
    {done: 1200, total: 4800, rowsPerSecond: 300, etaSeconds: 12},
    {Leads: {created: 1000, updated: 0, refused: 200}},
  )
  t.is(progressLine(progress, 100), '[######----------------] 25%  1,200/4,800 rows  300/s  eta 0:12  1,000 created  200 refused')
  t.is(progressLine(progress, 40), '[##----] 25%  1,200/4,800 rows  300/s')
})

test('text from others cannot send control sequences to a terminal', t => {
  t.is(clean('a\u001b[2Jb\r\nc\u0007\u202ed'), 'a[2Jb cd')
  t.is(clean(null), '')
})

test('sizes, durations and times are printed in a short form', t => {
  t.deepEqual([0, 999, 1500, 27_000_000, 3e12].map(size), ['0 B', '999 B', '1.5 kB', '27.0 MB', '3.0 TB'])
  t.deepEqual([0.4, 65, 7265].map(duration), ['0:00', '1:05', '2:01:05'])
  t.is(moment(new Date(2026, 1, 3, 4, 5).toISOString()), '2026-02-03 04:05')
  t.is(moment(null), '-')
})

test('a diff turns the old text into the new one', t => {
  const line = fc.constantFrom('a', 'b', 'c', 'd')
  fc.assert(
    fc.property(fc.array(line, {maxLength: 30}), fc.array(line, {maxLength: 30}), (before, after) => {
      const text = (lines: string[]) => lines.map(one => `${one}\n`).join('')
      t.deepEqual(applied(before, diffLines(text(before), text(after))), after)
    }),
  )
  t.deepEqual(diffLines('same\n', 'same\n'), [])
  t.deepEqual(diffLines('', 'new\n'), ['@@ -0,0 +1 @@', '+new'])
})

/** Applies a diff, as `patch` does. */
const applied = (before: string[], diff: string[]): string[] => {
  const result: string[] = []
  let at = 0
  for (const line of diff) {
    const [, start, many] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? []
    if (start !== undefined) {
      const from = many === '0' ? Number(start) : Number(start) - 1
      result.push(...before.slice(at, from))
      at = from
    } else if (line.startsWith('+')) result.push(line.slice(1))
    else {
      if (before[at] !== line.slice(1)) throw new Error(`${line} is not there`)
      if (line.startsWith(' ')) result.push(before[at]!)
      at++
    }
  }
  return [...result, ...before.slice(at)]
}

test('equal values are formatted as equal text, and names become distinct file names', t => {
  t.is(formatJson({b: 1, name: 'x', a: {d: 1, c: 2}}), formatJson({a: {c: 2, d: 1}, b: 1, name: 'x'}))
  t.is(formatJson({b: 1, name: 'x'}), '{\n  "name": "x",\n  "b": 1\n}\n')
  t.deepEqual(slugsOf(['Leads: März', 'Orders']), ['leads-marz', 'orders'])
  const [one, other, none] = slugsOf(['A b', 'a-B', '漢字'])
  t.regex(one!, /^a-b-[0-9a-f]{8}$/)
  t.not(one, other)
  t.regex(none!, /^template-[0-9a-f]{8}$/)
  t.deepEqual(['modules/a.json', 'libraries/a/source.js'].map(isOurs), [true, true])
  t.deepEqual(['libraries/../source.js', 'modules/..\\..\\x.json', 'modules/a/b.json', '../settings.json'].map(isOurs), [
    false,
    false,
    false,
    false,
  ])
  const files = filesOf({
    registry: {settings: {}, writing: {}, modules: [{key: 'leads'}], fields: {leads: [{apiName: 'b'}, {apiName: 'a'}]}},
    libraries: [],
    templates: [],
  })
  t.deepEqual([...files.keys()], ['settings.json', 'writing.json', 'modules/leads.json', 'fields/leads.json'])
  t.deepEqual(JSON.parse(files.get('fields/leads.json')!), [{apiName: 'b'}, {apiName: 'a'}], 'in the order of the server')
})

test('a merge takes remote changes, keeps local ones, and names files that both changed', t => {
  const there = new Map(Object.entries({same: 's', theirs: 't2', both: 'x', added: 'n', mine: 'm'}))
  const here = new Map(Object.entries({same: 's', theirs: 't', both: 'y', mine: 'm2', gone: 'g'}))
  const base = Object.fromEntries(
    [...new Map(Object.entries({same: 's', theirs: 't', both: 'b', mine: 'm', gone: 'g'}))].map(([path, text]) => [path, hash(text)]),
  )
  t.deepEqual(mergeFiles({base, here, there}), {take: ['added', 'theirs'], drop: ['gone'], keep: ['mine'], conflicts: ['both']})
})

test('files are assigned to slots by option, by file name, and the last one by elimination', t => {
  const file = (name: string, slot: string | null = null) => ({path: `/${name}`, name, slot, bytes: 1, modifiedMs: 0})
  const slotsOf = (...files: ReturnType<typeof file>[]) => fillSlots(files, ['orders', 'lines']).map(({slot}) => slot)
  t.deepEqual(slotsOf(file('a.csv', 'lines'), file('b.csv')), ['lines', 'orders'])
  t.deepEqual(slotsOf(file('Lines.csv'), file('x.csv')), ['lines', 'orders'])
  for (const [files, says] of [
    [[file('a.csv'), file('b.csv')], /cannot be assigned to slots/],
    [[file('a.csv', 'prices')], /no slot prices/],
    [[file('orders.csv')], /Missing: lines/],
    [[file('a.csv', 'orders'), file('b.csv', 'orders')], /same slot/],
    [[file('orders.csv'), file('lines.csv'), file('x.csv')], /takes 2 files, but 3 were given/],
  ] as const)
    t.regex(t.throws(() => fillSlots(files, ['orders', 'lines'])).message, says)
  const flows = [{module: 'Leads'}, {id: 'second', module: 'Deals', sourceId: 'b'}]
  t.deepEqual(bindFlows(flows, [file('a.csv')], ['src_1']), [
    {id: 'f1', module: 'Leads', sourceId: 'src_1'},
    {id: 'second', module: 'Deals', sourceId: 'src_1'},
  ])
  t.throws(() => bindFlows(flows, [file('a.csv'), file('b.csv')], ['src_1', 'src_2']), {message: /Flow 1 does not name one/})
})

test('the exit code of a run depends on its outcomes, and a stop takes precedence', t => {
  const counts = (of: object) => ({Leads: {created: 5, ...of}})
  t.is(exitOf({stop: null, counts: counts({})}, 'refused'), 0)
  for (const outcome of ['refused', 'failed', 'unanswered']) {
    t.is(exitOf({stop: null, counts: counts({[outcome]: 1})}, 'refused'), 2)
    t.is(exitOf({stop: null, counts: counts({[outcome]: 1})}, 'never'), 0)
  }
  t.is(exitOf({stop: null, counts: counts({skipped: 1})}, 'refused'), 0)
  t.is(exitOf({stop: null, counts: counts({skipped: 1})}, 'skipped'), 2)
  const settled = {stop: null, counts: counts({skipped: 3}), unchanged: 1, keptRows: 2}
  t.is(exitOf(settled, 'skipped'), 0, 'unchanged and kept rows are done')
  t.is(exitOf({...settled, keptRows: 1}, 'skipped'), 2)
  t.is(exitOf({stop: {stopped: 'X', message: ''}, counts: counts({refused: 1})}, 'never'), 3)
})

test('the end of a run names the fields whose value maps lack entries', t => {
  const out = openOutput(false, {out: process.stdout, err: process.stderr, columns: null})
  const run = {id: 'run_1', state: 'ended', stop: null, pause: null, dryRun: false, counts: {Leads: {created: 5}}, questions: 0}
  const ended = {...run, unchanged: 0, progress: {done: 5, total: 5}, startedAt: null, endedAt: null}
  const lines = describeEnding(out, {...ended, unmapped: [{flowId: 'leads', field: 'Industry', cells: 12}]})
  t.true(lines.includes('  Industry of flow leads: 12 cells without an entry in the value map.'), lines.join('\n'))
  t.false(describeEnding(out, ended).join().includes('value map'))
})

test('the end of a run tells what was found when written rows were read back', t => {
  const nothing = {coerced: 0, changed: 0, missing: 0, unread: 0, waiting: 0, unverified: 0, patchesCoerced: 0, patchesChanged: 0}
  const verify = {mode: 'all', rows: 1_200, ...nothing}
  t.deepEqual(verifyLines({id: 'run_1', verify: {...verify, rows: 0}}), [])
  t.deepEqual(verifyLines({id: 'run_1', verify}), ['  1,200 written rows read back, all as sent.'])
  t.deepEqual(verifyLines({id: 'run_1', verify: {...verify, coerced: 3, missing: 1, unverified: 1}}), [
    '  1,200 written rows read back: 3 with values that the CRM cut or converted, 1 whose record is gone. See /verify.csv of run run_1.',
    '  1 written row not read back.',
  ])
  t.deepEqual(verifyLines({id: 'run_1', verify: {...verify, patchesCoerced: 2, patchesChanged: 1}}), [
    '  1,200 written rows read back: 2 patches with values that the CRM cut or converted, 1 patch with values changed since. See /verify.csv of run run_1.',
  ])
})

test('row ranges accept only valid row numbers', t => {
  t.deepEqual(['7', '2-5', '500-', '-20'].map(rowRange), [{from: 7, to: 7}, {from: 2, to: 5}, {from: 500}, {to: 20}])
  for (const wrong of ['', '-', '0', '0-5', '5-2', 'a']) t.throws(() => rowRange(wrong), {message: /^(Use row|Row) numbers /}, wrong)
})

const refused = (status: number, code: string, headers = {}) => new ApiError(status, {error: 'No', code}, new Headers(headers))

test('every refusal has an exit code and a next step', t => {
  const told = (error: unknown) => {
    const {exit, code, next} = failureOf(error)
    return [exit, code, next !== null]
  }
  t.deepEqual(told(refused(401, 'TOKEN_EXPIRED')), [5, 'TOKEN_EXPIRED', true])
  t.deepEqual(told(refused(503, 'MAINTENANCE', {'retry-after': '30'})), [6, 'MAINTENANCE', true])
  t.deepEqual(told(refused(503, 'NOT_CONFIGURED')), [7, 'NOT_CONFIGURED', true])
  t.deepEqual(told(refused(409, 'REGISTRY_CONFLICT')), [7, 'REGISTRY_CONFLICT', true])
  t.deepEqual(told(new Unreachable('Nobody answers')), [6, 'UNREACHABLE', true])
  t.deepEqual(told(Object.assign(new Error('full'), {code: 'ENOSPC'})), [1, 'FAILED', true])
  t.is(
    failureOf(new ApiError(402, {error: 'No', code: 'LIMIT_ROWS', lift: [{by: 'fewer', rows: 7}]}, new Headers())).next,
    '7 rows are left in the plan. Send fewer rows',
  )
  t.true(failureOf(new Failure('x', {exit: 4, code: 'USAGE'})) instanceof Failure)
})

test('only harmless requests are retried, after the time that the server gives', t => {
  const pause = (error: unknown, isRead: boolean, tries = 1) => pauseBefore(error, {isRead, tries, waitMs: 100})
  t.is(pause(refused(429, 'RATE_LIMITED', {'retry-after': '7'}), false), 7000)
  t.is(pause(refused(503, 'BUSY', {'retry-after': '2'}), true), 2000)
  t.is(pause(refused(503, 'BUSY'), false), null)
  t.is(pause(new Unreachable('reset'), true, 2), 200)
  t.is(pause(new Unreachable('reset'), false), null)
  t.is(pause(new Unreachable('nobody', {cause: {cause: {code: 'ECONNREFUSED'}}}), true), null)
  t.is(pause(refused(404, 'NOT_FOUND'), true), null)
  const gone = new Unreachable('nobody', {cause: {cause: {code: 'ECONNREFUSED'}}})
  t.is(pauseBefore(gone, {isRead: false, tries: 2, waitMs: 100, wasThere: true}), 800, 'a server that was there is started anew')
  t.is(pause(new Unreachable('late', {cause: {name: 'TimeoutError'}}), true), null)
})

test('sessions, server addresses and settings are read correctly', t => {
  const session = (iat: number, exp: number) => `x.${Buffer.from(JSON.stringify({iat, exp})).toString('base64url')}.y`
  t.false(isPastHalf(session(1000, 2000), 1_499_000))
  t.true(isPastHalf(session(1000, 2000), 1_501_000))
  t.false(isPastHalf('lading_abc'))
  t.deepEqual(['lading.example.com/', 'localhost:4000', 'https://x.example/base/'].map(serverOf), [
    'https://lading.example.com',
    'http://localhost:4000',
    'https://x.example/base',
  ])
  for (const other of ['localhost.evil.example', '127.0.0.1.evil.example', '127.evil.example']) t.is(serverOf(other), `https://${other}`)
  for (const other of ['no address', 'ftp://x']) t.throws(() => serverOf(other), {message: /is not a server URL/})
  t.throws(() => serverOf('https://me:secret@x.example'), {message: /^(?!.*secret)/})
  t.like(readSettings({LADING_TOKEN: ' x ', XDG_CONFIG_HOME: '/c', COLUMNS: '40'}), {
    token: 'x',
    server: null,
    configDirectory: '/c/lading',
    columns: 40,
  })
})

test('the help of every command shows its usage, its options, the global options and examples', async t => {
  const seen: string[] = []
  for (const {name, names = [name]} of nouns)
    for (const one of names) {
      let text = ''
      const stream = Object.assign(new PassThrough(), {columns: 80}) as unknown as NodeJS.WriteStream
      const out = openOutput(false, {out: stream, err: stream, columns: null})
      const program = await createProgram({
        settings: readSettings({}),
        out,
        args: [one],
        exit: () => {},
        keepHelp: more => void (text += more),
        interrupt: () => new AbortController().signal,
      })
      program.commands.find(command => command.name() === one)!.outputHelp()
      t.regex(text, new RegExp(`^Usage: lading ${one}\\b[^]*--server <url>[^]*--json`), one)
      for (const line of text.split('\n')) t.true(line.length <= 100, line)
      for (const verb of program.commands.find(command => command.name() === one)!.commands) {
        text = ''
        verb.outputHelp()
        t.regex(text, /\nExamples?[:,]/, `${one} ${verb.name()}`)
      }
      seen.push(one)
    }
  t.is(new Set(seen).size, seen.length)
})
