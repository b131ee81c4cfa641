import type {IncomingHttpHeaders} from 'node:http'
import {Refusal} from '../shared/errors.ts'
import {OAuthRefusal} from '../shared/oauth/refusal.ts'
import {type Reply, reply} from './reply.ts'
import {refusalPage} from './sign-in-page.ts'

/** A program is told in the form of RFC 6749: `error` is the code there, `error_description` the text. */
export const answerClient = async (give: () => Promise<{status?: number; json: object}>): Promise<Reply> => {
  try {
    return reply(await give())
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error
    return reply({status: error.status, json: {error: error.code, error_description: error.message}})
  }
}

/** A person who cannot be sent back to any program sees a page; whoever does not read pages is told in the envelope. */
export const answerPerson = async (headers: IncomingHttpHeaders, show: () => Promise<Reply>): Promise<Reply> => {
  try {
    return await show()
  } catch (error) {
    const refusal = error instanceof OAuthRefusal ? new Refusal('INVALID', error.message, {oauth: error.code}) : error
    if (!(refusal instanceof Refusal) || !headers.accept?.includes('text/html')) throw refusal
    return refusalPage(error instanceof OAuthRefusal ? error : refusal)
  }
}
