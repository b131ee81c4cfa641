type LetterInput = {orgName: string; role: string; expiresAt: string; publicUrl: string}

const longestName = 100

/** Writes the e-mail to an invited person as plain text. It contains no secret: only a sign-in with the invited address can accept. */
export const writeInvitation = ({orgName, role, expiresAt, publicUrl}: LetterInput): {subject: string; text: string} => {
  const org = orgName.replaceAll(/\s+/g, ' ').slice(0, longestName)
  const parts = [
    `${org} invites you to import data with Lading, as ${role}.`,
    `Sign in with this e-mail address and accept the invitation: ${publicUrl.replace(/\/$/, '')}/`,
    `The invitation is valid until ${expiresAt.slice(0, 10)}. If you did not expect it, ignore this e-mail.`,
  ]
  return {subject: `${org} invites you to Lading`, text: `${parts.join('\n\n')}\n`}
}
