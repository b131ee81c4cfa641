import {setTimeout as pause} from 'node:timers/promises'
import {createTransport} from 'nodemailer'
import type {Config} from '../config.ts'

type Mail = {to: string; subject: string; text: string; messageId: string}

/** `send` throws MailFailure. */
export type Mailer = {send(mail: Mail): Promise<void>; close(): void}

/** `isFinal`: the server rejects this message or mailbox permanently; any other failure may be temporary. The error message contains no address. */
export class MailFailure extends Error {
  override name = 'MailFailure'
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean, options?: ErrorOptions) {
    super(message, options)
    this.isFinal = isFinal
  }
}

const connectMs = 10_000
const silenceMs = 15_000
const wholeMs = 60_000

export const openMailer = ({SMTP_URL: url, MAIL_FROM: from}: Pick<Config, 'SMTP_URL' | 'MAIL_FROM'>): Mailer | null => {
  if (!url) return null
  const timeouts = {connectionTimeout: connectMs, greetingTimeout: connectMs, socketTimeout: silenceMs, dnsTimeout: connectMs}
  const transport = createTransport({url, ...timeouts, disableFileAccess: true, disableUrlAccess: true})
  return {
    async send(mail) {
      const headers = {'auto-submitted': 'auto-generated'}
      const sent = transport.sendMail({...mail, from, headers}).then(
        () => 'sent' as const,
        error => mailFailureOf(error),
      )
      const outcome = await within(sent, wholeMs)
      if (outcome !== 'sent') throw outcome
    },
    close: () => transport.close(),
  }
}

const within = async (sent: Promise<'sent' | MailFailure>, ms: number) => {
  const timer = new AbortController()
  const late = pause(ms, new MailFailure('The mail server did not accept the message in time', false), {signal: timer.signal})
  try {
    return await Promise.race([sent, late])
  } finally {
    timer.abort()
    late.catch(() => {})
  }
}

type SmtpError = Error & {code?: string; responseCode?: number; command?: string}

/** A refused `MAIL FROM` is never final: the server refuses our sender or address, which the operator can correct. */
const mailFailureOf = (error: SmtpError) => {
  const {code = error.name, responseCode, command} = error
  const isFinal = (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM' && (responseCode ?? 0) >= 500
  return new MailFailure(`The mail server did not accept the message (${[code, responseCode].filter(Boolean).join(' ')})`, isFinal, {
    cause: error,
  })
}
