import type {IncomingHttpHeaders} from 'node:http'
import {Refusal} from '../shared/errors.ts'
import {OAuthRefusal} from './oauth/refusal.ts'
import {type Reply, reply} from './reply.ts'
import {refusalPage} from './sign-in-page.ts'

/** Responds to an OAuth client. An error has the form of RFC 6749: `error` contains the error code and `error_description` the text. */
export const answerClient = async (give: () => Promise<{status?: number; json: object}>): Promise<Reply> => {
  try {
    return reply(await give())
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error
    return reply({status: error.status, json: {error: error.code, error_description: error.message}})
  }
}

/**
 * Shows a page to a person. An error becomes a page too, because the person cannot be redirected. Clients that do not accept HTML get the envelope.
 */
export const answerPerson = async (headers: IncomingHttpHeaders, show: () => Promise<Reply>): Promise<Reply> => {
  try {
    return await show()
  } catch (error) {
    const refusal = error instanceof OAuthRefusal ? new Refusal('INVALID', error.message, {oauth: error.code}) : error
    if (!(refusal instanceof Refusal) || !headers.accept?.includes('text/html')) throw refusal
    return refusalPage(error instanceof OAuthRefusal ? error : refusal)
  }
}
