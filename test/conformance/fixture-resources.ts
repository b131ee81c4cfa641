import type {McpServer} from '@modelcontextprotocol/server'
import * as sdk from '@modelcontextprotocol/server'
import {png} from './fixture.ts'

/** Adds the resources that the suite names. */
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
  // Clients of the older protocol subscribe by a request; a server without sessions keeps no subscription.
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
}
