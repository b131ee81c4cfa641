import test from 'ava'
import {decide} from '../../api/clients/widget/text/de/decide.ts'
import {t as text} from '../../api/clients/widget/text/decide.ts'

test('the progress text of a check or preview uses the singular for one row', t => {
  t.is(text.ofRowsPreviewed('1', 1), '1 of 1 row previewed')
  t.is(text.ofRowsPreviewed('0', 2000), '0 of 2,000 rows previewed')
  t.is(text.ofRowsChecked('0', 1), '0 of 1 row checked')
  t.is(text.ofRowsChecked('0', null), '0 of all rows checked')
  t.is(decide.ofRowsChecked('0', 1), '0 von 1 Zeile geprüft')
})
