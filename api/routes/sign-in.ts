import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {consentUrl} from '../../shared/oauth/authorise.ts'
import {followCrmRole} from '../../shared/people/follow.ts'
import {openSession} from '../../shared/people/session.ts'
import {beginSignIn, completeSignIn} from '../../shared/people/sign-in.ts'
import {findMember} from '../../sql/members.ts'
import {keepBrowser, readBrowser} from '../browser.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {outcomePage, refusalPage} from '../sign-in-page.ts'

const text = z.string().max(4096).optional()

export default [
  route({
    method: 'get',
    path: '/auth/zoho/start',
    access: {public: true},
    effect: 'write',
    query: z.object({dc: z.string().default('us'), return: text}),
    async handle({db, config, query, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      const begun = await beginSignIn({db, config}, {purpose: 'session', dc: query.dc, returnTo: query.return, browser})
      const headers = {location: begun.url, 'set-cookie': keepBrowser(config, begun.browser), 'cache-control': 'no-store'}
      return reply({status: 302, headers})
    },
  }),

  route({
    method: 'get',
    path: '/auth/zoho/callback',
    access: {public: true},
    effect: 'write',
    query: z.object({state: text, code: text, error: text, 'accounts-server': text}),
    async handle({db, config, log, query: {'accounts-server': accountsServer, ...query}, request}) {
      const browser = readBrowser(config, request.headers.cookie)
      try {
        const outcome = await completeSignIn({db, config}, {...query, accountsServer, browser})
        if (!('request' in outcome)) return outcomePage(outcome)
        return reply({status: 302, headers: {location: await consentUrl(config, outcome.request), 'cache-control': 'no-store'}})
      } catch (error) {
        // Programs are told in the envelope; a person sees a page.
        if (!(error instanceof Refusal) || !request.headers.accept?.includes('text/html')) throw error
        log.info({code: error.code, ...(error.cause !== undefined && {err: error.cause})}, 'sign-in refused')
        return refusalPage(error)
      }
    },
  }),

  route({
    method: 'post',
    path: '/auth/session/refresh',
    access: {role: 'operator', sessionOnly: 'person', noOrg: true, closedOrg: true},
    async handle({db, config, crm, log, caller: {person, org}, request}) {
      if (org !== null) await followCrmRole({db, crm, log}, {org, person, signal: request.signal})
      const member = org === null ? null : await findMember(db, {org, person})
      return {token: await openSession(db, config, {person, org, role: member?.role ?? null})}
    },
  }),

  route({
    method: 'get',
    path: '/auth/me',
    access: {role: 'operator', noOrg: true, closedOrg: true, oauth: true},
    handle: ({caller: {org, orgName, person, email, name, role, via, staff, staffView}}) => ({
      org: org === null ? null : {id: org, name: orgName},
      user: {id: person, email, name},
      ...{role, via, staff, staffView},
    }),
  }),
]
