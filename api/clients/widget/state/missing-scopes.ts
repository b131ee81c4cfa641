import {signal} from '@preact/signals'

/** The scopes of a connection that the person did not grant at the last sign-in of this tab. */
export const missingScopes = signal<string[]>([])
