import type {McpServer} from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import {png} from './fixture.ts'

/** The resources the suite names. */
export const addResources = (server: McpServer): void => {
  const plain = {mimeType: 'text/plain'}
  server.registerResource('static-text', 'test://static-text', plain, ({href: uri}) => ({
    contents: [{uri, ...plain, text: 'This is the content of the static text resource.'}],
  }))
  server.registerResource('static-binary', 'test://static-binary', {mimeType: 'image/png'}, ({href: uri}) => ({
    contents: [{uri, mimeType: 'image/png', blob: png}],
  }))
  server.registerResource('watched-resource', 'test://watched-resource', plain, ({href: uri}) => ({
    contents: [{uri, ...plain, text: 'Watched'}],
  }))
  const json = {mimeType: 'application/json'}
  server.registerResource(
    'template',
    new sdk.ResourceTemplate('test://template/{id}/data', {list: undefined}),
    json,
    ({href: uri}, {id}) => ({
      contents: [{uri, ...json, text: JSON.stringify({id, templateTest: true, data: `Data for ID: ${id}`})}],
    }),
  )
  // A client of the older era says so by a request of its own; there is nobody to keep it for.
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
}
