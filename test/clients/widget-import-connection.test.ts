import test from 'ava'
import {connectionFor} from '../../api/clients/widget/imports/import-connection.ts'

const connections = [{id: 'a'}, {id: 'b'}]

test('a new import uses the chosen connection only while it is connected', t => {
  t.is(connectionFor(connections, undefined, 'b'), 'b')
  t.is(connectionFor(connections, {connectorId: null}, 'b'), 'b')
  t.is(connectionFor(connections, undefined, ''), 'a')
  t.is(connectionFor(connections, undefined, 'ended'), 'a')
})

test("the template's connection takes precedence, and the import has no connection if that one is not connected", t => {
  t.is(connectionFor(connections, {connectorId: 'a'}, 'b'), 'a')
  t.is(connectionFor(connections, {connectorId: 'ended'}, 'b'), null)
})
