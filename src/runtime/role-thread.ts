/** Entry of a role's thread in a process for both workers of a model. */
import './shared/role.ts'
