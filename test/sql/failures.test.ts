import test from 'ava'
import {isFateUnknown, isPassing, sqlStateOf} from '../../sql/database.ts'

const error = (code: string | null, message = 'x') => Object.assign(new Error(message), code === null ? {} : {code})

test('the SQLSTATE of an error is found at any depth of its causes, and a socket error has none', t => {
  t.is(sqlStateOf(new Error('outer', {cause: new Error('inner', {cause: error('40P01')})})), '40P01')
  for (const code of ['EPIPE', 'EPERM', 'ECONNRESET', null]) t.is(sqlStateOf(error(code)), null, `${code}`)
  t.is(sqlStateOf('not an error'), null)
})

test('a statement whose connection was lost may have been executed', t => {
  for (const code of ['EPIPE', 'ECONNRESET', '08006', '57P01', '57P03', null]) t.true(isFateUnknown(error(code)), `${code}`)
})

test('a statement that Postgres refused or that could not be sent was not executed', t => {
  for (const code of ['23505', '22021', '40P01', '57014', 'LD001']) t.false(isFateUnknown(error(code)), code)
  for (const mistake of [new TypeError('x'), new RangeError('x'), new ReferenceError('x'), new SyntaxError('x')])
    t.false(isFateUnknown(mistake))
})

test('temporary errors are retried: locks, time-outs, a full disk, a read-only server', t => {
  for (const code of ['40P01', '40001', '55P03', '57014', '53100', '53200', '53300', '25006']) t.true(isPassing(error(code)), code)
  for (const code of ['23505', '22021', '42601', 'LD001', 'EPIPE', null]) t.false(isPassing(error(code)), `${code}`)
})
