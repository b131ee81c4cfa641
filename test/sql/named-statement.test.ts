import test from 'ava'
import {nameStatement} from '../../sql/named-statement.ts'

test('each name of a statement becomes one parameter, however often it occurs', t => {
  const {text, listValues} = nameStatement('select @run::bigint, @log.key::text[], @run')
  t.is(text, 'select $1::bigint, $2::text[], $1')
  t.deepEqual(listValues({'log.key': '{a}', run: 7, unused: true}), [7, '{a}'])
})

test('a statement without one of its values is refused', t => {
  const {listValues} = nameStatement('select @run')
  t.throws(() => listValues({}), {message: /no value for run/})
  t.deepEqual(listValues({run: null}), [null])
})
