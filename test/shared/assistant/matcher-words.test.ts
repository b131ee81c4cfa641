import test from 'ava'
import fc from 'fast-check'
import {correct, splitCompound} from '../../../shared/assistant/matcher/lexicon.ts'
import {overlap} from '../../../shared/assistant/matcher/similar.ts'
import {normalForm, readWords} from '../../../shared/assistant/matcher/words.ts'

const same: Record<string, string[]> = {
  'billing postal code': [
    'BillingPostalCode',
    'billing_postal_code',
    'Billing: Postal-Code',
    ' BILLING  postal.code ',
    'billing postal code',
  ],
  strasse: ['Straße', 'STRASSE', 'strasse'],
  'address 1': ['Address1', 'address_1', 'ADDRESS 1'],
  prenom: ['Prénom', 'PRE\u0301NOM'],
  zrodlo: ['Źródło'],
  'number employees': ['# Employees', '№ employees', 'N° employees'],
  'percent iva': ['% IVA'],
  'assistant phone': ["Assistant's Phone", 'Assistant’s phone'],
}

for (const [form, spellings] of Object.entries(same)) {
  test(`all spellings have one normal form: ${form}`, t => {
    for (const spelling of spellings) t.is(normalForm(spelling), form, spelling)
  })
}

test('words in brackets are read as hints', t => {
  t.deepEqual(readWords('Telefon (privat)'), {words: ['telefon'], hints: ['privat']})
  t.deepEqual(readWords('(Do Not Modify) Lead'), {words: ['lead'], hints: ['do', 'not', 'modify']})
})

test('a normal form is short, trimmed and stable', t => {
  fc.assert(
    fc.property(fc.string({unit: 'binary', maxLength: 400}), name => {
      const form = normalForm(name)
      t.is(normalForm(form), form)
      t.is(form.trim(), form)
    }),
    {numRuns: 300},
  )
  t.true(normalForm('x'.repeat(100_000)).length <= 200)
})

test('compounds are split into their words', t => {
  t.deepEqual(splitCompound('billingcity'), ['billing', 'city'])
  t.deepEqual(splitCompound('rechnungsort'), ['rechnungs', 'ort'])
  t.is(splitCompound('xylophone'), null)
})

test('typing errors are corrected, and other words are left unchanged', t => {
  for (const [written, meant] of [
    ['emial', 'email'],
    ['compnay', 'company'],
    ['departmnt', 'department'],
    ['contry', 'country'],
  ] as const)
    t.is(correct(written), meant)
  for (const word of ['contract', 'county', 'stage', 'foo', 'city']) t.is(correct(word), word)
})

test('the overlap of words is measured on both sides', t => {
  t.is(overlap(['answer', 'one'], ['answer', 'one']), 1)
  t.is(overlap(['answer', 'one'], ['question', 'two']), 0)
  t.is(overlap(['answer'], ['answer', 'one', 'more']), 0.5)
  t.is(overlap([], ['answer']), 0)
})
