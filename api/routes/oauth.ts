import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {authorise} from '../../shared/oauth/authorise.ts'
import {registerClient} from '../../shared/oauth/client.ts'
import {decide, readConsent} from '../../shared/oauth/consent.ts'
import {describeIssuer, describeResource, issuerOf} from '../../shared/oauth/metadata.ts'
import {giveTokens, revokeToken} from '../../shared/oauth/tokens.ts'
import {keepBrowser, readBrowser} from '../browser.ts'
import {consentPage} from '../consent-page.ts'
import {formBytes, readForm} from '../form.ts'
import {answerClient, answerPerson} from '../oauth-answer.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const open = {access: {public: true}, effect: 'write'} as const
const form = {...open, method: 'post', body: 'bytes', mostBytes: formBytes} as const
const resource = {method: 'get', access: {public: true}} as const

export default [
  route({...resource, path: '/.well-known/oauth-protected-resource', handle: ({config}) => describeResource(config)}),
  route({...resource, path: '/.well-known/oauth-protected-resource/mcp', handle: ({config}) => describeResource(config)}),
  route({...resource, path: '/.well-known/oauth-authorization-server', handle: ({config}) => describeIssuer(config)}),

  route({
    ...open,
    method: 'get',
    path: '/oauth/authorize',
    query: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    handle: ({db, config, outbound, log, query, request: {headers}}) =>
      answerPerson(headers, async () => {
        const {url, browser} = await authorise({db, config, outbound, log}, query, readBrowser(config, headers.cookie))
        const cookie = browser !== null && {'set-cookie': keepBrowser(config, browser)}
        return reply({status: 302, headers: {location: url, 'cache-control': 'no-store', ...cookie}})
      }),
  }),

  route({
    method: 'get',
    path: '/oauth/consent',
    access: {public: true},
    query: z.object({request: z.string().max(2048).optional()}),
    handle: ({db, config, query, request: {headers}}) =>
      answerPerson(headers, async () => {
        const visit = {request: query.request, browser: readBrowser(config, headers.cookie)}
        return consentPage(await readConsent({db, config}, visit), query.request!)
      }),
  }),

  route({
    ...form,
    path: '/oauth/consent',
    handle: ({db, config, body, request: {headers}}) =>
      answerPerson(headers, async () => {
        const {request, org, decision} = readForm(headers, body)
        // The cookie is not sent from elsewhere, and what it belongs to is not known there: this is the third lock, and tells of a mistake.
        if (headers.origin !== undefined && headers.origin !== new URL(issuerOf(config)).origin)
          throw new Refusal('SIGN_IN_REFUSED', 'This was sent from another page than ours')
        const visit = {request, browser: readBrowser(config, headers.cookie)}
        const location = await decide({db, config}, visit, {allow: decision === 'allow', org})
        return reply({status: 303, headers: {location, 'cache-control': 'no-store'}})
      }),
  }),

  route({
    ...open,
    method: 'post',
    path: '/oauth/register',
    body: z.unknown(),
    mostBytes: formBytes,
    handle: ({db, body}) => answerClient(async () => ({status: 201, json: await registerClient(db, body)})),
  }),

  route({
    ...form,
    path: '/oauth/token',
    handle: ({db, config, body, request: {headers}}) =>
      answerClient(async () => ({json: await giveTokens({db, config}, readForm(headers, body))})),
  }),

  route({
    ...form,
    path: '/oauth/revoke',
    handle: ({db, body, request: {headers}}) =>
      answerClient(async () => {
        await revokeToken(db, readForm(headers, body))
        return {json: {}}
      }),
  }),
]
