import test from 'ava'
import {setLanguage} from '../../api/clients/widget/text/language.ts'
import {rate} from '../../api/clients/widget/ui/format.ts'

test('a rate has one decimal below ten, with the decimal sign of the language', t => {
  t.deepEqual([rate(0.26), rate(9), rate(1234.5)], ['0.3', '9.0', '1,235'])
  setLanguage('de', null)
  t.teardown(() => setLanguage('en', null))
  t.is(rate(2.5), '2,5')
})
