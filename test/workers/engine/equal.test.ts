import test from 'ava'
import {isEqual, isNear} from '../../../workers/engine/equal.ts'
import {field} from './making.ts'

const stage = field('F', {type: 'picklist', picklist: [{display: 'Open now', actual: 'Open'}]})
const tags = field('F', {type: 'multiselectpicklist', picklist: [{display: 'Red', actual: 'r'}]})
const places = field('F', {type: 'currency', decimalPlaces: 2})
const of = (type: string) => field('F', {type})

const long = 'All of it. '.repeat(100)

const equal: [string, ReturnType<typeof field>, unknown, unknown][] = [
  ['letters composed otherwise', of('text'), 'Jose\u0301', 'José'],
  ['blanks around it', of('text'), ' Soria ', 'Soria'],
  ['ends of lines', of('textarea'), 'a\r\nb', 'a\nb'],
  ['the size of letters of an e-mail', of('email'), 'A@B.example', 'a@b.example'],
  ['the size of letters of an address', of('website'), 'Example.org/A', 'example.org/a'],
  ['digits beyond the places', places, 1.005, 1.01],
  ['numbers told as text', of('integer'), 12, '12'],
  ['long numbers', of('bigint'), '9007199254740993', '9007199254740993'],
  ['a box that was never ticked', of('boolean'), false, undefined],
  ['a day', of('date'), '2026-01-02', '2026-01-02'],
  ['a moment in another zone', of('datetime'), '2026-01-02T10:00:00+02:00', '2026-01-02T08:00:00Z'],
  ['a moment cut to the second', of('datetime'), '2026-01-02T08:00:00.700Z', '2026-01-02T08:00:00+00:00'],
  ['a time with its seconds', of('time'), '08:30', '08:30:00'],
  ['a link with its name', of('lookup'), {id: '1'}, {id: '1', name: 'One'}],
  ['a choice by its display name', stage, 'Open', 'Open now'],
  ['choices in another order', tags, ['r', 'b'], ['b', 'Red']],
  ['choices as one text', tags, ['r', 'b'], 'b;Red'],
  ['rich text without its marks', of('textarea'), '<b>Hello</b> you', '<div>Hello you</div>'],
  ['rich text that a list cuts', of('textarea'), `<p>${long}</p>`, `<p>${long}</p>`.slice(0, 500)],
  ['rich text that a list cuts within a mark', of('textarea'), `${'a'.repeat(497)}<b>b</b>`, `${'a'.repeat(497)}<b>`.slice(0, 500)],
  ['long text without marks that a list cuts', of('textarea'), long, long.slice(0, 500)],
]
for (const [what, asField, sent, read] of equal) test(`equal: ${what}`, t => t.true(isEqual([asField], {F: sent}, {F: read})))

const unequal: typeof equal = [
  ['long text of another beginning', of('textarea'), `b${long}`, `a${long}`.slice(0, 500)],
  ['long text of which there is less', of('textarea'), long, long.slice(0, 499)],
  ['the size of letters of a text', of('text'), 'soria', 'Soria'],
  ['another number', places, 1.01, 1.02],
  ['long numbers that a number would round', of('bigint'), '9007199254740993', '9007199254740992'],
  ['a ticked box', of('boolean'), true, undefined],
  ['another second', of('datetime'), '2026-01-02T08:00:01Z', '2026-01-02T08:00:00Z'],
  ['no moment', of('datetime'), '2026-01-02T08:00:01Z', 'soon'],
  ['another link', of('lookup'), {id: '1'}, {id: '2'}],
  ['fewer choices', tags, ['r', 'b'], ['r']],
  ['an empty field', of('text'), 'a', null],
]
for (const [what, asField, sent, read] of unequal) test(`not equal: ${what}`, t => t.false(isEqual([asField], {F: sent}, {F: read})))

test("what was sent empty, and what is the CRM's to fill, is not compared; with nothing else no record is equal", t => {
  const fields = [field('Name'), field('Phone'), field('No', {type: 'autonumber'})]
  t.true(isEqual(fields, {Name: 'a', Phone: null, No: 'x'}, {Name: 'a', Phone: '1', No: 'y'}))
  t.false(isEqual(fields, {Phone: null, No: 'x'}, {Phone: null, No: 'x'}))
})

test('near: what tells it agrees, though something else does not', t => {
  const fields = [field('Name'), field('City'), field('Code')]
  const sent = {Name: 'a', City: 'b', Code: 'c'}
  t.true(isNear(fields, sent, {Name: 'a', City: 'other', Code: 'c'}, ['Name', 'Code']))
  t.false(isNear(fields, sent, {Name: 'a', City: 'b', Code: 'other'}, ['Name', 'Code']))
  t.false(isNear(fields, sent, {Name: 'a', City: 'other', Code: 'other'}, ['Name']), 'another record of the same name')
  t.true(isNear(fields, sent, {Name: 'other', City: 'b', Code: 'other'}, [null, undefined]))
  t.false(isNear(fields, sent, {Name: 'other', City: 'other'}, [null]))
})
