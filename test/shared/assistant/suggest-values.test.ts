import test from 'ava'
import {suggestValues} from '../../../shared/assistant/matcher/suggest-values.ts'

const listOf = (...names: string[]) => ({type: 'picklist', picklist: names.map(name => ({display: name, actual: name}))})
const one = (value: string, field: Parameters<typeof suggestValues>[1]) => suggestValues([value], field)[0]
const boolean = {type: 'boolean', picklist: []}

test('words for yes and no are proposed in every language of the matcher', t => {
  const yes = ['yes', 'Ja', 'OUI', 'sí', 'si', 'sim', 'tak', 'på', 'x', '1', 'wahr', 'vrai', 'verdadero', 'waar', 'prawda', 'sant']
  const no = ['no', 'Nein', 'non', 'não', 'nee', 'nie', 'nej', '0', 'falsch', 'faux', 'falso', 'onwaar', 'fałsz', 'falskt']
  for (const word of yes) t.deepEqual(one(word, boolean), {to: 'true', why: word === 'true' ? 'option' : 'alias'}, word)
  for (const word of no) t.deepEqual(one(word, boolean), {to: 'false', why: 'alias'}, word)
  t.is(one('maybe', boolean), null)
})

test('options are found by spelling, plural, known words and similar spelling', t => {
  const industries = listOf('Banking', 'Real Estate', 'Services', 'Café')
  t.deepEqual(one('real-estate', industries), {to: 'Real Estate', why: 'option'})
  t.deepEqual(one('CAFE', industries), {to: 'Café', why: 'option'})
  t.deepEqual(one('service', industries), {to: 'Services', why: 'plural'})
  t.deepEqual(one('Bankng', industries), {to: 'Banking', why: 'similar'})
  t.is(one('Agriculture', industries), null)
  t.deepEqual(one('offen', listOf('Open', 'Closed')), {to: 'Open', why: 'alias'})
  t.deepEqual(one('Ja', listOf('Yes', 'No')), {to: 'Yes', why: 'alias'})
  t.deepEqual(one('Kunde', listOf('Customer', 'Supplier')), {to: 'Customer', why: 'alias'})
})

test('the actual value of an option counts, and an unused option is not proposed', t => {
  const options = [
    {display: 'Fresh', actual: 'Brand new'},
    {display: 'Old', actual: 'Old', unused: true as const},
  ]
  t.deepEqual(one('brand-new', {type: 'picklist', picklist: options}), {to: 'Fresh', why: 'option'})
  t.is(one('old', {type: 'picklist', picklist: options}), null)
})

test('two options that fit equally give no proposal, and other fields have none', t => {
  t.is(one('Nord Ost', listOf('Nord-Ost', 'Nord/Ost')), null)
  t.is(one('hoch', listOf('High', 'Haute')), null)
  t.is(one('Bern', {type: 'text', picklist: []}), null)
  t.is(one('???', listOf('Open')), null)
})
