import test from 'ava'
import {matchKeyOf} from '../../../../shared/mapping/flows/match-key.ts'
import {countAt, filteredAt, keptEditsAt, keptRowsAt, OUTCOMES, unchangedAt} from '../../../../sql/run-log.ts'
import {compileFlow} from '../../../../workers/engine/compose/compiled-flow.ts'
import {composeRow} from '../../../../workers/engine/compose/compose-row.ts'
import {type ImportRow, isRow} from '../../../../workers/engine/model.ts'
import {compiledFlow, field} from '../fixtures.ts'

const name = field('Name')
const code = field('Code', {unique: true})
const size = field('Size', {type: 'integer'})
const laid = compiledFlow([name, code, size], {matchFields: [code]})

const read = (cells: string[], ragged = false) => ({rowNumber: 3, cells, ragged})
const composed = (cells: string[], flow = laid): ImportRow => {
  const made = composeRow(flow, read(cells))
  if (!isRow(made)) throw new Error(made.message)
  return made
}

test('a composed row carries the converted cells, its match key and its row locks', t => {
  const made = composed(['Bolt', 'X-1', '12'])
  t.like(made, {number: 3, key: 'f.3', payload: {Name: 'Bolt', Code: 'X-1', Size: 12}, hasUniqueKey: true, attempt: 0, unansweredSends: 0})
  t.deepEqual(made.matchKey, matchKeyOf(['X-1'], [code]))
  t.deepEqual(made.lockKeys, [made.matchKey!.toString('latin1'), 'Code=x-1'])
})

test('an empty cell leaves its field unchanged; the clear token clears it, and so does an empty cell where the flow says so', t => {
  t.deepEqual(composed(['Bolt', ' ', '']).payload, {Name: 'Bolt'})
  t.deepEqual(composed(['Bolt', '\\N', '\\N']).payload, {Name: 'Bolt', Code: null, Size: null})
  const clearing = {...laid, mappings: laid.mappings.map(mapping => ({...mapping, clears: true}))}
  t.deepEqual(composed(['Bolt', '  ', ''], clearing).payload, {Name: 'Bolt', Code: null, Size: null})
})

test('a list without values counts as an empty cell, in a cell and as the result of an expression', t => {
  const channels = field('Channels', {type: 'multiselectpicklist', picklist: [{display: 'Web', actual: 'Web'}]})
  const flow = compiledFlow([name, channels, field('Tag', {type: 'tag'})])
  t.deepEqual(composed(['Bolt', 'Web;', ' a ;'], flow).payload, {Name: 'Bolt', Channels: ['Web'], Tag: [{name: 'a'}]})
  const clearing = {...flow, mappings: flow.mappings.map(mapping => ({...mapping, clears: true}))}
  for (const blank of [';', ' ;; ', '[]', '[" "]']) {
    t.deepEqual(composed(['Bolt', blank, blank], flow).payload, {Name: 'Bolt'}, blank)
    t.deepEqual(composed(['Bolt', blank, blank], clearing).payload, {Name: 'Bolt', Channels: null, Tag: null}, blank)
  }
  const made = {...flow, mappings: flow.mappings.map((mapping, at) => (at === 1 ? {...mapping, expression: 'Channels'} : mapping))}
  t.like(composeRow(made, read(['Bolt', 'Web', '']), {Channels: {value: []}}), {payload: {Name: 'Bolt'}})
  t.like(composeRow(made, read(['Bolt', 'Web', '']), {Channels: {value: '\\N'}}), {payload: {Name: 'Bolt', Channels: null}})
})

test('a number or a date to search for is read by the reading of its column', t => {
  const parent = field('Parent', {type: 'lookup'})
  const wanted = (type: string, text: string, reading: object) => {
    const lookup = {no: 1, module: 'Parents', ownModule: null, field: {apiName: 'Key', type}, method: 'equals' as const}
    const link = {lookup, always: true, onNone: 'leave' as const, onMany: 'ask' as const}
    const flow = compiledFlow([name, parent])
    flow.mappings[1] = {...flow.mappings[1]!, link, rules: {reading}}
    const made = composeRow(flow, read(['Bolt', text]))
    return isRow(made) ? made.pendingLinks?.[0]?.text : made.code
  }
  t.is(wanted('currency', '1.234,50', {decimalMark: 'comma'}), '1234.5')
  t.is(wanted('integer', '1.234', {decimalMark: 'comma'}), '1234')
  t.is(wanted('integer', '1.234', {}), 'AMBIGUOUS_VALUE')
  t.is(wanted('date', '3.4.2026', {dateOrder: 'dmy'}), '2026-04-03')
  t.is(wanted('integer', 'HQ', {}), 'HQ', 'a text that is no number finds nothing, as the mapping decides')
  t.is(wanted('text', '1.234', {decimalMark: 'comma'}), '1.234')
})

test('a row without a match key matches nothing, takes no row lock and has no unique key', t => {
  t.like(composed(['Bolt', '', '1']), {matchKey: null, lockKeys: [], hasUniqueKey: false})
  t.like(composed(['Bolt', '\\N', '1']), {matchKey: null, lockKeys: [], hasUniqueKey: false})
})

test('spellings of one match key take the same row lock', t => {
  t.deepEqual(composed(['Bolt', ' x-1 ', '']).lockKeys, composed(['Nut', 'X-1', '']).lockKeys)
  t.notDeepEqual(composed(['Bolt', 'x-11', '']).lockKeys, composed(['Nut', 'X-1', '']).lockKeys)
})

test('a row that cannot be sent fails as a whole and names the field', t => {
  t.like(composeRow(laid, read(['Bolt', 'X-1', 'many'])), {number: 3, key: 'f.3', code: 'INVALID_VALUE', target: 'Size'})
  t.like(composeRow(laid, read(['Bolt', 'X-1'], true)), {code: 'ROW_RAGGED', target: null})
  t.like(composeRow(laid, {...read(['Bolt', 'X-1\n2,Nut', '3'], true), openQuote: true}), {code: 'ROW_QUOTE', target: null})
  t.like(composeRow(laid, read([' ', '', ''])), {code: 'ROW_EMPTY', target: null})
})

test('a row with several wrong cells names them all, up to ten', t => {
  const sizes = (count: number) => compiledFlow(Array.from({length: count}, (_, at) => field(`Size_${at + 1}`, {type: 'integer'})))
  const failure = (count: number, flow = sizes(count)) => {
    const made = composeRow(flow, read(new Array(count).fill('many')))
    if (isRow(made)) throw new Error('The row does not fail')
    return made
  }
  t.like(failure(1), {message: 'Size_1 takes a whole number', target: 'Size_1'})
  t.like(failure(2), {code: 'INVALID_VALUE', target: 'Size_1', message: 'Size_1 takes a whole number; Size_2 takes a whole number'})
  t.is(failure(10).message.match(/takes/g)?.length, 10)
  t.regex(failure(12).message, /; Size_10 takes a whole number; and 2 more$/)
  const long = compiledFlow(Array.from({length: 1_500}, (_, at) => field(`Size_${'x'.repeat(300)}_${at}`, {type: 'integer'})))
  t.regex(failure(1_500, long).message, /^Size.*; and 1,49\d more$/)
  t.true(failure(1_500, long).message.length <= 1_000)
})

test('wrong values from expressions are named together with wrong cells of the file', t => {
  const made = {...size, apiName: 'Made'}
  const flow = compiledFlow([size, made])
  flow.mappings[1] = {...flow.mappings[1]!, expression: 'Made'}
  const error = {code: 'EXPRESSION_FAILED', message: 'x is not defined', line: 1, column: 3}
  t.like(composeRow(flow, read(['many', '1']), {Made: {error}} as never), {
    code: 'INVALID_VALUE',
    target: 'Size',
    message: 'Size takes a whole number; Made: x is not defined (line 1, column 3)',
  })
})

test('a cell that cannot be imported fails the fields and expressions that read it, unless a value map replaces it', t => {
  const faulty = {...read(['########', 'X-1', '12']), faults: {0: 'No date'}}
  t.like(composeRow(laid, faulty), {code: 'INVALID_VALUE', message: 'Name: No date', target: 'Name'})
  t.true(isRow(composeRow(compiledFlow([name, code, size], {mappings: laid.mappings.slice(1)}), faulty)))
  const withMap = (to: string, otherwise: 'keep' | 'empty') =>
    compiledFlow([name], {mappings: [{...laid.mappings[0]!, values: {entries: new Map([[to, 'None']]), otherwise}}]})
  t.like(composeRow(withMap('########', 'keep'), faulty), {payload: {Name: 'None'}}, 'a value map may replace it')
  t.true(isRow(composeRow(withMap('x', 'empty'), faulty)))
  t.like(composeRow(withMap('x', 'keep'), faulty), {code: 'INVALID_VALUE', target: 'Name'})
  const program = {expressions: {}, columns: [{name: 'Start', at: 0}], libraries: [], context: {}, clock: 0, seed: ''}
  t.like(composeRow(compiledFlow([name, code, size], {mappings: laid.mappings.slice(1), program}), faulty), {
    code: 'INVALID_VALUE',
    message: 'Start: No date',
    target: null,
  })
})

test('a static value fills its field in every row, and a skipped field is never filled', t => {
  const source = {no: 1, id: 's', label: 's', fileKey: 'k', sha256: '', reader: {}, columns: ['n', 'c'], rows: 1}
  const module = {no: 1, apiName: 'Things', label: 'Things', fields: [name, code, size]}
  const fields = [
    {field: 'Name', mode: 'column' as const, source: 'n', empty: 'leave' as const},
    {field: 'Code', mode: 'skip' as const, empty: 'leave' as const},
    {field: 'Size', mode: 'static' as const, staticValue: '4', empty: 'leave' as const},
  ]
  const flow = compileFlow(
    {no: 1, sourceNo: 1, moduleNo: 1, searches: {}, flow: {id: 'f', sourceId: 's', module: 'Things', fields}},
    {sources: [source], modules: [module]},
  )
  t.like(flow, {onOne: 'create', onMany: 'skip', matchFields: [], uniqueFields: []})
  t.deepEqual(composed(['Bolt', 'X-1'], flow).payload, {Name: 'Bolt', Size: 4})
})

test('a row whose cells are all empty is refused as empty, even if the flow has static or cleared fields', t => {
  const filled = {...laid, mappings: [...laid.mappings, {field: field('Kind'), column: null, text: 'Imported', clears: false}]}
  const clearing = {...filled, mappings: filled.mappings.map(mapping => ({...mapping, clears: true}))}
  for (const flow of [filled, clearing]) t.like(composeRow(flow, read(['', ' ', ''])), {code: 'ROW_EMPTY'})
  t.deepEqual(composed(['', '', '\\N'], filled).payload, {Size: null, Kind: 'Imported'})
  const fixed = {...filled, mappings: filled.mappings.slice(3)}
  t.deepEqual(composed(['', '', ''], fixed).payload, {Kind: 'Imported'}, 'a flow that reads no column writes a record a row')
})

test('composing the same cells twice gives the same row', t => {
  t.deepEqual(composed(['Bolt', 'X-1', '12']), composed(['Bolt', 'X-1', '12']))
})

test('counts of two modules never share a position', t => {
  const places = [1, 2, 3].flatMap(module => (['created', 'lookup'] as const).map(outcome => countAt(module, outcome)))
  t.is(new Set(places).size, 6)
  t.true(countAt(2, 'created') > countAt(1, 'lookup'))
  const first = Math.min(...[keptRowsAt, keptEditsAt, unchangedAt, filteredAt].map(place => place(1)))
  t.true(
    OUTCOMES.every(outcome => countAt(1, outcome) < first),
    'an outcome and a count that is no outcome',
  )
})
