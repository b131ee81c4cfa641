import test from 'ava'
import {Flow} from '../../../../shared/mapping/flows/flow.ts'
import {formatOf} from '../../../../shared/mapping/flows/snapshot.ts'
import {mapValue, valueMapOf} from '../../../../shared/mapping/flows/value-map.ts'
import {field} from '../../../workers/engine/fixtures.ts'

const picklist = [
  {display: 'Fresh', actual: 'New'},
  {display: 'Sold', actual: 'Sold'},
]
const mapOf = (more: object) => {
  const flow = Flow.parse({id: 'f', sourceId: 's', module: 'M', fields: [{field: 'X', mode: 'column', source: 'x', ...more}]})
  return valueMapOf(flow.fields[0]!)
}
const values = [
  {from: ' Neu ', to: 'New'},
  {from: 'n/a', to: ''},
  {from: 'weg', to: '\\N'},
  {from: 'both', to: 'Fresh;Sold'},
]
const mapped = (value: unknown, more: object = {}, shape: Parameters<typeof field>[1] = {}) =>
  mapValue(value, field('X', shape), mapOf({values, ...more})!)

test('a value is replaced without regard to letter case and surrounding blanks', t => {
  t.deepEqual(mapped('NEU  '), {value: 'New', isMapped: true})
  t.deepEqual(mapped('N/A'), {value: '', isMapped: true})
  t.deepEqual(mapped('weg'), {value: '\\N', isMapped: true})
})

test('a value is replaced in composed and in decomposed form', t => {
  for (const [from, cell] of [
    ['NFC', 'NFD'],
    ['NFD', 'NFC'],
  ] as const)
    t.deepEqual(mapped('österreich'.normalize(cell), {values: [{from: 'Österreich'.normalize(from), to: 'AT'}]}), {
      value: 'AT',
      isMapped: true,
    })
})

test('blank cells, the clear token and links are not replaced and not counted', t => {
  for (const value of ['', '  ', '\\N', null, undefined, {id: '1'}]) t.deepEqual(mapped(value, {otherwise: 'fail'}), {value})
})

test('a value without an entry is kept or counts as blank, as the mapping says', t => {
  t.deepEqual(mapped('alt'), {value: 'alt', isUnmapped: true})
  t.deepEqual(mapped('alt', {otherwise: 'keep'}), {value: 'alt', isUnmapped: true})
  t.deepEqual(mapped('alt', {otherwise: 'empty'}), {value: '', isUnmapped: true})
  t.deepEqual(mapped(7, {otherwise: 'keep'}), {value: 7, isUnmapped: true}, 'a result of an expression keeps its type')
})

test('options of a picklist and words of a boolean field need no entry', t => {
  t.deepEqual(mapped('sold', {otherwise: 'fail'}, {type: 'picklist', picklist}), {value: 'sold'})
  t.deepEqual(mapped('Old', {otherwise: 'fail'}, {type: 'picklist', picklist}), {value: 'Old', isUnmapped: true})
  t.deepEqual(mapped('no', {otherwise: 'empty'}, {type: 'boolean'}), {value: 'no'})
  t.deepEqual(mapped(true, {otherwise: 'empty'}, {type: 'boolean'}), {value: true})
  t.deepEqual(mapped('nein', {otherwise: 'empty'}, {type: 'boolean'}), {value: '', isUnmapped: true})
})

test('each value of a field with several values is replaced on its own', t => {
  const shape = {type: 'multiselectpicklist', picklist}
  t.deepEqual(mapped('neu; Sold', {}, shape), {value: '["New"," Sold"]', isMapped: true, isUnmapped: false})
  t.deepEqual(mapped('both;n/a', {}, shape), {value: '["Fresh","Sold"]', isMapped: true, isUnmapped: false})
  t.deepEqual(mapped(['neu', 'Old'], {otherwise: 'empty'}, shape), {value: '["New"]', isMapped: true, isUnmapped: true})
  t.deepEqual(mapped('Old', {otherwise: 'empty'}, shape), {value: '', isMapped: false, isUnmapped: true})
  t.deepEqual(mapped('Fresh;Sold', {otherwise: 'fail'}, shape), {value: 'Fresh;Sold'})
  t.deepEqual(mapped(7, {values: [{from: '7', to: 'New'}]}, shape), {value: '["New"]', isMapped: true, isUnmapped: false})
  t.deepEqual(mapped(true, {otherwise: 'empty'}, shape), {value: '', isMapped: false, isUnmapped: true})
  t.deepEqual(mapped(' ["neu", "Sold"] ', {}, shape), {value: '["New","Sold"]', isMapped: true, isUnmapped: false})
})

test('a stored flow with a map of words replaces values as before', t => {
  const map = mapOf({picklist: 'map', map: {Neu: 'New', sold: 'New'}})!
  const shape = field('X', {type: 'picklist', picklist})
  t.deepEqual(mapValue(' neu', shape, map), {value: 'New', isMapped: true})
  t.deepEqual(mapValue('Sold', shape, map), {value: 'New', isMapped: true}, 'the words of the mapping go before the list')
  t.deepEqual(mapValue('Old', shape, map), {value: 'Old', isUnmapped: true})
  t.is(mapOf({}), undefined)
})

test('only snapshots with value maps need this build', t => {
  const flowOf = (more: object) => ({
    no: 1,
    sourceNo: 1,
    moduleNo: 1,
    searches: {},
    flow: Flow.parse({id: 'f', sourceId: 's', module: 'M', fields: [{field: 'X', mode: 'column', source: 'x', ...more}]}),
  })
  t.is(formatOf({sources: [], modules: [], flows: [flowOf({picklist: 'map', map: {a: 'b'}})]}), 4)
  t.is(formatOf({sources: [], modules: [], flows: [{...flowOf({}), nested: 'required'}]}), 5)
  t.is(formatOf({sources: [], modules: [], flows: [{...flowOf({values}), nested: 'required'}]}), 6)
})
