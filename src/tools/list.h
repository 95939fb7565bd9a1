/* Every tool, one word each: the name of its file and of its row. */
/* clang-format off */
TOOL(native_read_file)
TOOL(native_write_file)
TOOL(native_list_files)
TOOL(native_stat)
TOOL(native_time_now)
TOOL(toolhost_fs_list)
TOOL(toolhost_fs_read)
TOOL(toolhost_fs_write)
